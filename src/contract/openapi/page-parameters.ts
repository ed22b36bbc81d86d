import type { DocumentParameter } from './document-endpoints.ts';

/** Names of parameters in lower case, without separators, the most specific first. */
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

/** The query parameters of an endpoint that select a page or its size. */
export interface PageParameters {
  readonly size: DocumentParameter | undefined;
  readonly cursor: DocumentParameter | undefined;
  /** Takes the number of a page or of items. Such pages are not supported. */
  readonly number: DocumentParameter | undefined;
}

/** Finds the parameters of an endpoint that select a page. */
export function findPageParameters(parameters: readonly DocumentParameter[]): PageParameters {
  const query = parameters.filter(({ in: place }) => place === 'query');
  const find = (names: readonly string[]): DocumentParameter | undefined =>
    names.flatMap((name) => query.filter((one) => plain(one.name) === name))[0];
  const offset = find(OFFSETS);
  return { size: find(SIZES), cursor: find(CURSORS), number: find(PAGES) ?? (isCount(offset) ? offset : undefined) };
}

// `from` may also be a day.
function isCount(parameter: DocumentParameter | undefined): boolean {
  return parameter !== undefined && (parameter.schema.types.has('integer') || parameter.schema.types.has('number'));
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
