import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { usePaper } from './paper.ts';

/** The parameters of a page's path, such as `id` of `/prompts/:id`. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** The address of the page, without the base path. */
export interface Route {
  readonly base: string;
  /** Begins with a slash and has none at its end, except for the first page. */
  readonly path: string;
  readonly search: URLSearchParams;
  /** The block that the address points to, with `#`. */
  readonly hash?: string;
  /** Goes to a path of this workspace, such as `/prompts?brand=...`. */
  navigate(to: string, options?: { readonly replace?: boolean }): void;
}

const RouteContext = createContext<Route>({
  base: '',
  path: '/',
  search: new URLSearchParams(),
  navigate: () => undefined,
});

/** Returns the base path that the server wrote into the page. */
export function readBase(document: Document): string {
  const content = document.querySelector('meta[name="sightline-base"]')?.getAttribute('content') ?? '';
  return content.replace(/\/$/, '');
}

/** Keeps the route equal to the address of the window. */
export function RouterProvider({ base, children }: { base: string; children: ComponentChildren }): JSX.Element {
  const [address, setAddress] = useState(() => addressNow(base));
  useEffect(() => {
    const update = (): void => setAddress(addressNow(base));
    window.addEventListener('popstate', update);
    return () => window.removeEventListener('popstate', update);
  }, [base]);
  useEffect(keepScroll, []);
  const route = useMemo<Route>(
    () => ({
      base,
      ...address,
      navigate(to, { replace = false } = {}) {
        const url = `${base}${to}`;
        if (replace) history.replaceState(history.state, '', url);
        else history.pushState(null, '', url);
        const next = addressNow(base);
        setAddress(next);
      },
    }),
    [base, address],
  );
  return <RouteContext.Provider value={route}>{children}</RouteContext.Provider>;
}

/** How long a scroll position is restored while the contents of the page load, in milliseconds; an input ends it. */
const RESTORED_MS = 5_000;

// Stores the scroll position of each entry of the history, and returns to it.
function keepScroll(): () => void {
  history.scrollRestoration = 'manual';
  let restoring: ResizeObserver | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    restoring?.disconnect();
    clearTimeout(timer);
    restoring = null;
  };
  const store = (): void => {
    if (restoring === null) history.replaceState({ ...history.state, scroll: window.scrollY }, '');
  };
  const restore = (): void => {
    end();
    // Links within a page have no position.
    if (history.state?.scroll === undefined) return;
    const wanted = Number(history.state.scroll);
    // The last page may still be shown, and blocks grow when their data arrive.
    restoring = new ResizeObserver(() => window.scrollTo(0, wanted));
    restoring.observe(document.body);
    timer = setTimeout(end, RESTORED_MS);
  };
  const events = { scrollend: store, popstate: restore, wheel: end, pointerdown: end, keydown: end };
  for (const [name, listener] of Object.entries(events)) window.addEventListener(name, listener, { passive: true });
  return () => {
    end();
    for (const [name, listener] of Object.entries(events)) window.removeEventListener(name, listener);
  };
}

/** Gives components a fixed route, for pages that are drawn without a browser. */
export function StaticRoute({ route, children }: { route: Route; children: ComponentChildren }): JSX.Element {
  return <RouteContext.Provider value={route}>{children}</RouteContext.Provider>;
}

export function useRoute(): Route {
  return useContext(RouteContext);
}

/** New values of parameters of an address; null or an empty text removes a parameter. */
export type AddressChanges = Readonly<Record<string, string | null>>;

/** Returns the address of a route with other parameters. */
export function addressWith({ path, search }: Pick<Route, 'path' | 'search'>, changes: AddressChanges): string {
  const changed = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') changed.delete(name);
    else changed.set(name, value);
  }
  const text = changed.toString();
  return text === '' ? path : `${path}?${text}`;
}

/**
 * Returns a parameter of the address that belongs to one page, and the function that changes it. Other values than the ids of
 * the options are read as the first, which is not written into the address.
 */
export function useSearchParam<Id extends string>(
  name: string,
  options: readonly { readonly id: Id }[],
): readonly [Id, (value: string | null) => void] {
  const route = useRoute();
  const [first] = options;
  const chosen = options.find(({ id }) => id === route.search.get(name)) ?? first;
  const set = (next: string | null): void =>
    route.navigate(addressWith(route, { [name]: next === first?.id ? null : next }));
  return [chosen?.id ?? ('' as Id), set];
}

/** Returns whether the pages can be linked to. Reports link to them only if their address is known. */
export function useHasLinks(): boolean {
  const { base } = useRoute();
  return usePaper() === null || base !== '';
}

interface LinkProps {
  /** Path within the workspace. */
  readonly to: string;
  readonly isCurrent?: boolean;
  readonly class?: string;
  readonly dir?: 'auto';
  readonly title?: string | undefined;
  readonly 'aria-label'?: string | undefined;
  /** Called before the page changes. */
  readonly onFollow?: () => void;
  readonly children: ComponentChildren;
}

/** A link to another page of the workspace, which is shown without loading the document again. */
export function Link({ to, isCurrent = false, onFollow, children, ...rest }: LinkProps): JSX.Element {
  const { base, navigate } = useRoute();
  const hasLinks = useHasLinks();
  const follow = (event: MouseEvent): void => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !isPlain) return;
    event.preventDefault();
    onFollow?.();
    navigate(to);
    window.scrollTo(0, 0);
  };
  if (!hasLinks) {
    return (
      <span class={rest.class} dir={rest.dir} title={rest.title}>
        {children}
      </span>
    );
  }
  return (
    <a {...rest} href={`${base}${to}`} aria-current={isCurrent ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
}

/**
 * Returns the parameters of a path that matches a pattern such as `/prompts/:id`, or null.
 *
 * @example
 * matchPath('/prompts/:id', '/prompts/7') // { id: '7' }
 */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const expected = pattern.split('/');
  const given = path.split('/');
  if (expected.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of expected.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':') && value !== '') params[part.slice(1)] = decoded(value);
    else if (part !== value) return null;
  }
  return params;
}

function addressNow(base: string): Pick<Route, 'path' | 'search' | 'hash'> {
  const { pathname, search, hash } = window.location;
  const within = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return { path: within.replace(/\/+$/, '') || '/', search: new URLSearchParams(search), hash: decoded(hash) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
