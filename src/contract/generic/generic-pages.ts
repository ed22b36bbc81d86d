import { isRecord } from '../../base/json.ts';
import type { DocumentEndpoint, DocumentParameter } from '../openapi/document-endpoints.ts';
import type { SchemaForm } from '../openapi/schema-form.ts';
import { LINK_HEADER, type Pages } from '../resource.ts';

/** Names of parameters and members in lower case, without separators, the most specific first. */
const SIZES = ['limit', 'perpage', 'pagesize', 'maxresults', 'maxitems', 'pagelimit', 'size', 'count', 'first', 'top'];
const CURSORS = [
  'cursor',
  'nextcursor',
  'pagetoken',
  'nextpagetoken',
  'continuationtoken',
  'continuation',
  'nexttoken',
  'token',
  'startingafter',
  'after',
  'marker',
  'next',
];
const PAGES = ['page', 'pagenumber', 'pageno', 'pageindex', 'pagenum', 'p'];
const OFFSETS = ['offset', 'skip', 'startindex', 'start', 'from'];
const NEXT_CURSORS = [
  'nextcursor',
  'nextpagetoken',
  'nexttoken',
  'continuationtoken',
  'continuation',
  'nextpage',
  'endcursor',
  'nextmarker',
  'next',
  'cursor',
  'after',
  'marker',
  'pagetoken',
  'token',
];
const NEXT_URLS = ['nexturl', 'nextlink', 'nextpageurl', 'next', 'odata.nextlink'];
const MORE = ['hasmore', 'hasnext', 'hasnextpage', 'more', 'ismore', 'moreavailable'];
const PAGE_COUNTS = ['totalpages', 'pagecount', 'pages', 'numpages', 'lastpage'];
const TOTALS = ['total', 'totalcount', 'totalitems', 'totalresults', 'totalhits', 'totalelements', 'totalrecords'];
/** Names of objects in the body that describe the page. */
const FRAMES = [
  'paging',
  'pagination',
  'meta',
  'links',
  'pageinfo',
  'cursors',
  'page',
  'cursor',
  'metadata',
  'responsemetadata',
  'info',
];
/** Depth of members of the body that describe the page. */
const DEPTH_MAX = 3;
/** Page size that is requested if the document does not limit it. */
const SIZE_STANDARD = 100;

/** How an endpoint's list is split, as far as it is known. */
export interface KnownPages {
  readonly pages: Pages | null;
  /** Parameters that limit a list without further pages, and their greatest values. */
  readonly ask: Readonly<Record<string, string>>;
  /** Names of the parameters that select a page or its size. */
  readonly parameters: readonly string[];
}

/**
 * Infers how an endpoint splits its list into pages from its parameters, the schema of its body, and the first response if there is
 * one. `link` is the header Link of that response.
 */
export function inferPages(
  { parameters }: Pick<DocumentEndpoint, 'parameters'>,
  schema: SchemaForm,
  response: { readonly body: unknown; readonly link: string | null } | null,
): KnownPages {
  const query = parameters.filter(({ in: place }) => place === 'query');
  const find = (names: readonly string[]): DocumentParameter | undefined =>
    names.flatMap((name) => query.filter((one) => plain(one.name) === name))[0];
  const sizeParameter = find(SIZES);
  const size =
    sizeParameter === undefined ? {} : { size: { parameter: sizeParameter.name, max: sizeOf(sizeParameter) } };
  const members = membersOf(schema, response?.body);
  const memberNamed = (names: readonly string[], isFit: (member: Member) => boolean): string | undefined =>
    names
      .flatMap((name) => members.filter((one) => plain(one.path.at(-1) ?? '') === name && isFit(one)))[0]
      ?.path.join('.');
  const cursor = find(CURSORS);
  const page = find(PAGES);
  const offset = find(OFFSETS);
  const numbered = {
    ...optional(
      'more',
      memberNamed(MORE, ({ isBoolean }) => isBoolean),
    ),
    ...optional(
      'total',
      memberNamed(TOTALS, ({ isNumber }) => isNumber),
    ),
    ...optional('length', sizeParameter && memberNamed([plain(sizeParameter.name)], ({ isNumber }) => isNumber)),
  };
  const positionOf = ({ name }: DocumentParameter): Partial<Record<'position', string>> =>
    optional(
      'position',
      memberNamed([plain(name)], ({ isNumber }) => isNumber),
    );
  const url = memberNamed(NEXT_URLS, ({ isUrl }) => isUrl);
  const next = memberNamed(NEXT_CURSORS, ({ isText, isNumber }) => isText || isNumber);
  const names = [sizeParameter, cursor, page, offset].flatMap((one) => one?.name ?? []);
  const known = (pages: Pages | null): KnownPages => ({
    pages,
    ask: pages === null && sizeParameter !== undefined ? { [sizeParameter.name]: String(sizeOf(sizeParameter)) } : {},
    parameters: names,
  });
  if (url !== undefined) return known({ kind: 'link', next: url, ...size });
  if (cursor !== undefined && next !== undefined)
    return known({ kind: 'cursor', parameter: cursor.name, next, ...size });
  if (hasNextLink(response?.link ?? null)) return known({ kind: 'link', next: LINK_HEADER, ...size });
  if (page !== undefined) {
    const shown = members.find(({ path }) => plain(path.at(-1) ?? '') === plain(page.name))?.number;
    const first = Number(shown ?? page.schema.standard ?? page.schema.minimum ?? 1) === 0 ? 0 : 1;
    const pages = optional(
      'pages',
      memberNamed(PAGE_COUNTS, ({ isNumber }) => isNumber),
    );
    return known({ kind: 'page', parameter: page.name, first, ...size, ...numbered, ...pages, ...positionOf(page) });
  }
  if (offset !== undefined && isCount(offset))
    return known({ kind: 'offset', parameter: offset.name, ...size, ...numbered, ...positionOf(offset) });
  // A cursor whose place in the body is still unknown: the first page shows it.
  return known(null);
}

interface Member {
  readonly path: readonly string[];
  readonly isText: boolean;
  readonly isUrl: boolean;
  readonly isNumber: boolean;
  readonly isBoolean: boolean;
  /** The number in the response, if it is one. */
  readonly number?: number;
}

// Members of the body outside of its lists, from the schema and from a response. A response that shows a value decides.
function membersOf(schema: SchemaForm, body: unknown): Member[] {
  const members = new Map<string, Member>();
  const fromSchema = (form: SchemaForm, path: readonly string[]): void => {
    for (const [name, field] of form.fields) {
      const at = [...path, name];
      if (field.types.has('object') && at.length < DEPTH_MAX && isFrame(name)) fromSchema(field, at);
      const isText = field.types.has('string');
      const isUrl = isText && (field.format === 'uri' || field.format === 'url' || field.format === 'uri-reference');
      const isNumber = field.types.has('integer') || field.types.has('number');
      members.set(at.join('\n'), { path: at, isText, isUrl, isNumber, isBoolean: field.types.has('boolean') });
    }
  };
  const fromBody = (value: unknown, path: readonly string[]): void => {
    if (!isRecord(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      const at = [...path, name];
      if (isRecord(inner) && at.length < DEPTH_MAX && isFrame(name)) fromBody(inner, at);
      if (inner === null || Array.isArray(inner) || isRecord(inner)) continue;
      const isText = typeof inner === 'string';
      const isUrl = isText && /^(?:https?:\/\/|\/|\?)\S/.test(inner);
      const isNumber = typeof inner === 'number';
      const number = typeof inner === 'number' ? { number: inner } : {};
      members.set(at.join('\n'), {
        path: at,
        isText,
        isUrl,
        isNumber,
        isBoolean: typeof inner === 'boolean',
        ...number,
      });
    }
  };
  fromSchema(schema, []);
  fromBody(body, []);
  return [...members.values()];
}

function isFrame(name: string): boolean {
  return FRAMES.includes(plain(name)) || plain(name) === 'next';
}

function hasNextLink(link: string | null): boolean {
  return /;\s*rel\s*=\s*"?(?:[^",]*\s)?next\b/i.test(link ?? '');
}

// `from` may also be a day.
function isCount({ schema: { types } }: DocumentParameter): boolean {
  return types.has('integer') || types.has('number');
}

function sizeOf({ schema }: DocumentParameter): number {
  return schema.maximum ?? Math.max(SIZE_STANDARD, Number(schema.standard ?? 0) || 0);
}

function optional<K extends string>(name: K, value: string | undefined): Partial<Record<K, string>> {
  return value === undefined ? {} : ({ [name]: value } as Partial<Record<K, string>>);
}

/** Whether a parameter of this name limits the number of items. */
export function isSizeName(name: string): boolean {
  return SIZES.includes(plain(name));
}

/** Returns a name in lower case without separators. */
export function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/[_\-$@\s]/g, '')
    .replace(/^\.+/, '');
}
