import type { Route } from '../../state/router.tsx';

/** Returns the address of the page with other parameters; null removes one. */
export function addressWith(
  route: Pick<Route, 'path' | 'search'>,
  changes: Readonly<Record<string, string | null>>,
): string {
  const search = new URLSearchParams(route.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) search.delete(name);
    else search.set(name, value);
  }
  const text = search.toString();
  return text === '' ? route.path : `${route.path}?${text}`;
}
