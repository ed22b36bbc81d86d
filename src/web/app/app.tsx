import type { JSX } from 'preact';
import { CurrentPage } from './components/current-page.tsx';
import { Layout } from './components/layout.tsx';
import { EmptyState, WhenLoaded } from './components/parts.tsx';
import { FIRST_RUN, FLEET, SIGN_IN } from './pages/registry.ts';
import type { Api, Me } from './state/api.ts';
import { ApiContext, useMe } from './state/data.tsx';
import { LiveProvider } from './state/live.tsx';
import { RouterProvider, useRoute } from './state/router.tsx';
import { ScopeProvider } from './state/scope.tsx';

/** The pages of a server: the pages of a workspace, the list of workspaces, and the sign-in page. */
export function App({ api }: { readonly api: Api }): JSX.Element {
  return (
    <ApiContext.Provider value={api}>
      <RouterProvider base={api.base}>
        <Entrance />
      </RouterProvider>
    </ApiContext.Provider>
  );
}

/** Pages that are shown although the workspace has no data. */
const WITHOUT_DATA: readonly string[] = ['/operations', '/setup'];

// Selects the page of an address by the rights of the reader.
function Entrance(): JSX.Element {
  const { base, path } = useRoute();
  const loaded = useMe();
  const { data: me } = loaded;
  if (me === null) {
    return (
      <main>
        <WhenLoaded of={loaded}>{() => null}</WhenLoaded>
      </main>
    );
  }
  const isIn = me.access !== 'none' && path !== '/sign-in';
  const hasWorkspace = isIn && me.workspace !== null;
  const isEmpty = !hasWorkspace || me.hasData === false;
  return (
    <LiveProvider isOn={hasWorkspace && me.features.operations}>
      <ScopeProvider isEmpty={isEmpty}>
        <Layout me={isIn ? me : null}>{contentOf(me, base, path)}</Layout>
      </ScopeProvider>
    </LiveProvider>
  );
}

function contentOf(me: Me, base: string, path: string): JSX.Element {
  if (me.access === 'none' || path === '/sign-in') return <CurrentPage entry={SIGN_IN} />;
  if (me.workspace === null) {
    if (base === '' && me.workspaces !== null) return <CurrentPage entry={FLEET} />;
    return (
      <EmptyState>
        <p>This workspace does not exist, or your key or session cannot open it.</p>
        <a href="/">Show your workspaces</a>
      </EmptyState>
    );
  }
  if (me.hasData === false && !WITHOUT_DATA.includes(path)) return <CurrentPage entry={FIRST_RUN} />;
  return <CurrentPage />;
}
