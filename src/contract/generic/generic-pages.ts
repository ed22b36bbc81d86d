import { isRecord } from '../../base/json.ts';
import type { DocumentEndpoint, DocumentParameter } from '../openapi/document-endpoints.ts';
import { findPageParameters, plain } from '../openapi/page-parameters.ts';
import type { SchemaForm } from '../openapi/schema-form.ts';
import type { Pages } from '../resource.ts';

/** Names of members in lower case, without separators, the most specific first. */
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
/** Members that are set only if more items follow. */
const NEXT = [
  'nextcursor',
  'nextpagetoken',
  'nexttoken',
  'nextpage',
  'nextmarker',
  'next',
  'nexturl',
  'nextlink',
].concat(['nextpageurl', 'odata.nextlink', 'continuationtoken', 'continuation']);
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
  'next',
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
 * Infers the cursor of an endpoint's list from its parameters, the schema of its body, and the first response if there is one. If the
 * document does not show the cursor's place in the body, the first response does.
 */
export function inferPages(
  { parameters }: Pick<DocumentEndpoint, 'parameters'>,
  schema: SchemaForm,
  body: unknown,
): KnownPages {
  const { size, cursor, number } = findPageParameters(parameters);
  const members = new Map(
    [...membersOfSchema(schema), ...membersOfBody(body)].map((one) => [one.path.join('\n'), one]),
  );
  const next = NEXT_CURSORS.flatMap((name) =>
    [...members.values()].filter(({ path, canContinue }) => canContinue && plain(path.at(-1) ?? '') === name),
  )[0];
  const names = [size, cursor, number].flatMap((one) => one?.name ?? []);
  if (cursor === undefined || next === undefined) {
    return { pages: null, ask: size === undefined ? {} : { [size.name]: String(sizeOf(size)) }, parameters: names };
  }
  const ofSize = size === undefined ? {} : { size: { parameter: size.name, max: sizeOf(size) } };
  const pages = { parameter: cursor.name, next: next.path.join('.'), ...ofSize };
  return { pages, ask: {}, parameters: names };
}

/** The first response of a list that has no known cursor. */
export interface OnlyPage {
  readonly body: unknown;
  /** Header Link, or null. */
  readonly link: string | null;
  /** Number of items. */
  readonly items: number;
}

/** Returns how a response shows that its list has more items than itself, such as `has_more is true`; null if it shows nothing. */
export function moreBeyond({ body, link, items }: OnlyPage): string | null {
  if (/;\s*rel\s*=\s*"?(?:[^",]*\s)?next\b/i.test(link ?? '')) return 'the header Link has a next page';
  for (const { path, value } of membersOfBody(body)) {
    const name = plain(path.at(-1) ?? '');
    const isSet = (typeof value === 'string' && value !== '') || typeof value === 'number';
    const isCount = typeof value === 'number' && Number.isSafeInteger(value);
    if (
      (NEXT.includes(name) && isSet) ||
      (MORE.includes(name) && value === true) ||
      (PAGE_COUNTS.includes(name) && isCount && value > 1) ||
      (TOTALS.includes(name) && isCount && value > items)
    )
      return `${path.join('.')} is ${JSON.stringify(value).slice(0, 80)}`;
  }
  return null;
}

// A scalar member of the body outside of its lists.
interface Member {
  readonly path: readonly string[];
  /** Whether its value may be a cursor. */
  readonly canContinue: boolean;
  /** Value in a response. */
  readonly value?: unknown;
}

function membersOfSchema(form: SchemaForm, path: readonly string[] = []): Member[] {
  return [...form.fields].flatMap(([name, field]) => {
    const at = [...path, name];
    const inner = field.types.has('object') && isFrame(name, at) ? membersOfSchema(field, at) : [];
    const canContinue = ['string', 'integer', 'number'].some((type) => field.types.has(type as 'string'));
    return [...inner, { path: at, canContinue }];
  });
}

function membersOfBody(body: unknown, path: readonly string[] = []): Member[] {
  if (!isRecord(body)) return [];
  return Object.entries(body).flatMap(([name, value]): Member[] => {
    const at = [...path, name];
    if (isRecord(value)) return isFrame(name, at) ? membersOfBody(value, at) : [];
    if (value === null || Array.isArray(value)) return [];
    return [{ path: at, canContinue: typeof value === 'string' || typeof value === 'number', value }];
  });
}

function isFrame(name: string, path: readonly string[]): boolean {
  return path.length < DEPTH_MAX && FRAMES.includes(plain(name));
}

function sizeOf({ schema }: DocumentParameter): number {
  return schema.maximum ?? Math.max(SIZE_STANDARD, Number(schema.standard ?? 0) || 0);
}
