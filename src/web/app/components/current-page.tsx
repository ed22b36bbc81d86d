import type { FunctionComponent, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { PAGES, type PageEntry, SIGN_IN } from '../pages/registry.ts';
import { Link, matchPath, type PageProps, useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { EmptyState, NotFound } from './parts.tsx';

interface Loaded {
  readonly entry: PageEntry;
  readonly Page: FunctionComponent<PageProps>;
}

/** Pages whose contents do not depend on a brand and days. */
const WITHOUT_SCOPE: readonly string[] = ['/sql', '/operations', '/setup', SIGN_IN.pattern];

// Says why an address shows no data, and offers the brands with the usual days.
function Problem({ problem }: { readonly problem: string }): JSX.Element {
  const { path } = useRoute();
  const { brandList } = useScope();
  return (
    <EmptyState>
      <h1>This address shows no data</h1>
      <p dir="auto">{problem}</p>
      <p>
        <Link to={path}>Show the page without filters</Link>
      </p>
      {brandList.length > 1 && (
        <ul class="links">
          {brandList.slice(0, BRANDS_OFFERED).map(({ id, name }) => (
            <li key={id}>
              <Link to={`${path}?${new URLSearchParams({ brand: id })}`} dir="auto">
                {name}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </EmptyState>
  );
}

/** Brands that are offered instead of one that does not exist. */
const BRANDS_OFFERED = 12;

/** The page of the address, or the given one. While the next page loads, the last one stays. */
export function CurrentPage({ entry: given }: { readonly entry?: PageEntry }): JSX.Element {
  const { path } = useRoute();
  const { linkTo, brand, problem } = useScope();
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [failed, setFailed] = useState<PageEntry | null>(null);
  const shown = useRef<PageProps['params']>({});
  const entry = given ?? PAGES.find(({ pattern }) => matchPath(pattern, path) !== null) ?? null;
  const title = entry?.title ?? 'Page not found';
  useEffect(() => {
    document.title = [title, brand?.name, 'sightline'].filter((part) => part !== undefined).join(' · ');
  }, [title, brand?.name]);
  useEffect(() => {
    let isWanted = true;
    entry?.load().then(
      (module) => isWanted && setLoaded({ entry, Page: module.default }),
      () => isWanted && setFailed(entry),
    );
    return () => {
      isWanted = false;
    };
  }, [entry]);
  if (entry === null) {
    const about = 'There is no page at this address.';
    return <NotFound what="Page" about={about} to={linkTo('/')} linkLabel="Go to the overview" />;
  }
  if (problem !== null && !WITHOUT_SCOPE.includes(entry.pattern)) return <Problem problem={problem} />;
  if (failed === entry) {
    return (
      <EmptyState>
        <p>This page could not be loaded, perhaps because sightline was updated.</p>
        <button type="button" onClick={() => window.location.reload()}>
          Reload
        </button>
      </EmptyState>
    );
  }
  if (loaded === null) return <div class="skeleton" role="status" aria-label="Loading" />;
  if (loaded.entry === entry) shown.current = matchPath(entry.pattern, path) ?? {};
  return (
    <div class="current" aria-busy={loaded.entry !== entry}>
      <loaded.Page params={shown.current} />
    </div>
  );
}
