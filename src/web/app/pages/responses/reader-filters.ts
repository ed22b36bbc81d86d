/** Parameters of the address in addition to the filters of all pages. */
export const MENTIONED = 'mentioned';
export const SEARCH = 'search';

/** The reader's own filters. */
export interface ReaderFilters {
  /** Parameters of response_list. */
  readonly params: { readonly mentioned: 'true' | 'false' | null; readonly search: string | null };
  /** The same for links. */
  readonly link: Readonly<Record<string, string>>;
}

/** Reads the reader's own filters of an address. */
export function readReader(search: URLSearchParams): ReaderFilters {
  const given = search.get(MENTIONED);
  const mentioned = given === 'true' || given === 'false' ? given : null;
  const text = search.get(SEARCH)?.trim() || null;
  const link: Record<string, string> = {};
  if (mentioned !== null) link[MENTIONED] = mentioned;
  if (text !== null) link[SEARCH] = text;
  return { params: { mentioned, search: text }, link };
}
