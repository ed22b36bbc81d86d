import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import icon from '../icon.svg';
import { PAGES } from '../pages/registry.ts';
import type { Me } from '../state/api.ts';
import { type Appearance, chooseAppearance, readAppearance } from '../state/appearance.ts';
import { Link, useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { AccountMenu, WorkspaceSwitch } from './account-menu.tsx';
import { Timestamp } from './parts.tsx';

const APPEARANCES: readonly { readonly id: Appearance; readonly label: string }[] = [
  { id: 'system', label: 'System colours' },
  { id: 'light', label: 'Light' },
  { id: 'dark', label: 'Dark' },
];

/** Choices that belong to one page and have no field in the filters of others. */
const OF_PAGE = { competitor: null, prompt: null } as const;

export interface LayoutProps {
  /** Null until the reader has signed in. */
  readonly me: Me | null;
  readonly children: ComponentChildren;
}

/** The frame of all pages: top bar, navigation of a workspace, contents and the time of the data. */
export function Layout({ me, children }: LayoutProps): JSX.Element {
  const { path, base } = useRoute();
  const { linkTo } = useScope();
  const [isOpen, setIsOpen] = useState(false);
  const hasPages = me !== null && me.workspace !== null;
  const shown = PAGES.filter(({ pattern, label }) => label !== null && mayShow(pattern, me));
  const isCurrent = (pattern: string): boolean =>
    path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`));
  return (
    <>
      <a class="skip" href="#main">
        Skip to the contents
      </a>
      <TopBar me={me} isOpen={isOpen} onToggle={() => setIsOpen(!isOpen)} />
      <div class={hasPages ? 'frame' : 'frame narrow'}>
        {hasPages && (
          <nav id="navigation" class="side" aria-label="Pages" data-open={isOpen}>
            <ul>
              {shown.map(({ pattern, label }) => (
                <li key={pattern}>
                  <Link to={linkTo(pattern, OF_PAGE)} isCurrent={isCurrent(pattern)} onFollow={() => setIsOpen(false)}>
                    {label}
                  </Link>
                </li>
              ))}
              <li>
                <a href={`${base}/reports/`}>Reports</a>
              </li>
            </ul>
          </nav>
        )}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  );
}

// Pages that the server would refuse are not offered.
function mayShow(pattern: string, me: Me | null): boolean {
  if (pattern === '/sql') return me?.features.sql === true;
  if (pattern === '/operations') return me?.features.operations === true;
  return true;
}

interface TopBarProps {
  readonly me: Me | null;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function TopBar({ me, isOpen, onToggle }: TopBarProps): JSX.Element {
  const { linkTo, brands } = useScope();
  const asOf = brands.table?.asOf ?? null;
  return (
    <header class="top">
      {me !== null && me.workspace !== null && (
        <button type="button" class="menu-button" aria-expanded={isOpen} aria-controls="navigation" onClick={onToggle}>
          Menu
        </button>
      )}
      <Link class="home" to={linkTo('/', OF_PAGE)}>
        <img src={icon} alt="" width={24} height={24} /> sightline
      </Link>
      {me !== null && <WorkspaceSwitch me={me} />}
      <span class="top-end">
        {asOf !== null && (
          <span class="quiet as-of">
            Data as of <Timestamp time={asOf} />
          </span>
        )}
        <AppearanceSwitch />
        {me !== null && <AccountMenu me={me} />}
      </span>
    </header>
  );
}

function AppearanceSwitch(): JSX.Element {
  const [appearance, setAppearance] = useState<Appearance>(() => readAppearance(localStorage));
  return (
    <select
      aria-label="Colours"
      value={appearance}
      onChange={(event) => {
        const chosen = event.currentTarget.value as Appearance;
        chooseAppearance(localStorage, document.documentElement, chosen);
        setAppearance(chosen);
      }}
    >
      {APPEARANCES.map(({ id, label }) => (
        <option key={id} value={id}>
          {label}
        </option>
      ))}
    </select>
  );
}
