import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import icon from '../icon.svg';
import { type PageEntry, PAGES } from '../pages/registry.ts';
import type { Me } from '../state/api.ts';
import { addDays, dayOf } from '../state/calendar-days.ts';
import { useQuery } from '../state/data.tsx';
import { useLive } from '../state/live.tsx';
import { Link, useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { AccountPart, BrandSwitch } from './brand-switch.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Keys } from './keys.tsx';
import { Popup } from './popup.tsx';

/** Choices that belong to one page and have no field in the filters of others. */
const OF_PAGE = { competitor: null, prompt: null } as const;

/** Groups of the navigation, in its order; the first has no heading. */
const GROUPS = ['', 'Act', 'Investigate'] as const;

/** Alerts of this many days are counted beside the page of the alerts. */
const ALERT_DAYS = 7;

export interface LayoutProps {
  /** Null until the reader has signed in. */
  readonly me: Me | null;
  readonly children: ComponentChildren;
}

/** The frame of all pages: the brand, the pages and the state of the data beside the contents. */
export function Layout({ me, children }: LayoutProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => setIsOpen(false);
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') close();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
  const hasPages = me !== null && me.workspace !== null;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the contents
      </a>
      {!hasPages && <PlainHead me={me} />}
      <div class={hasPages ? 'app' : 'app plain'}>
        {hasPages && <Sidebar me={me} isOpen={isOpen} onFollow={close} />}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
        {hasPages && <Keys />}
        {hasPages && <BottomBar isOpen={isOpen} onToggle={() => setIsOpen(!isOpen)} onFollow={close} />}
      </div>
    </>
  );
}

function PlainHead({ me }: { readonly me: Me | null }): JSX.Element {
  return (
    <header class="plain-head">
      <Link class="home" to="/">
        <img src={icon} alt="" width={24} height={24} /> sightline
      </Link>
      {me !== null && (
        <Popup label="Account" button="Account" panelClass="switch-panel">
          <AccountPart me={me} />
        </Popup>
      )}
    </header>
  );
}

// Pages that the server would refuse are not offered.
function mayShow(pattern: string, me: Me): boolean {
  return pattern !== '/sql' || me.features.sql;
}

interface SidebarProps {
  readonly me: Me;
  /** Whether phones show it. */
  readonly isOpen: boolean;
  readonly onFollow: () => void;
}

function Sidebar({ me, isOpen, onFollow }: SidebarProps): JSX.Element {
  const counts = useCounts();
  return (
    <nav id="navigation" class="side" aria-label="Pages" data-open={isOpen}>
      <BrandSwitch me={me} />
      {GROUPS.map((group) => (
        <div key={group}>
          {group !== '' && <h2>{group}</h2>}
          <ul>
            {PAGES.filter((page) => page.group === group && mayShow(page.pattern, me)).map((page) => (
              <li key={page.pattern}>
                <PageLink page={page} count={counts[page.pattern]} onFollow={onFollow} />
              </li>
            ))}
          </ul>
        </div>
      ))}
      <DataState me={me} onFollow={onFollow} />
    </nav>
  );
}

function useCounts(): Readonly<Record<string, number | undefined>> {
  const { brand, brands } = useScope();
  const to = brands.table?.completeTo ?? null;
  const { table } = useQuery(
    'alert_list',
    brand === null || to === null ? null : { brand: brand.id, from: addDays(to, 1 - ALERT_DAYS), to },
  );
  return { '/prompts': brand?.prompts, '/alerts': table?.rows.length };
}

interface PageLinkProps {
  readonly page: PageEntry;
  readonly count?: number | undefined;
  readonly onFollow: () => void;
}

function PageLink({ page: { pattern, title, label = title }, count = 0, onFollow }: PageLinkProps): JSX.Element {
  const { path } = useRoute();
  const { linkTo, format } = useScope();
  const isCurrent = path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`));
  return (
    <Link class="side-link" to={linkTo(pattern, OF_PAGE)} isCurrent={isCurrent} onFollow={onFollow}>
      <Icon name={(pattern.slice(1) || 'overview') as IconName} />
      {label}
      {count > 0 && <span class="count">{format.value(count, 'count')}</span>}
    </Link>
  );
}

// How complete and how new the data are; leads to the page of the operations.
function DataState({ me, onFollow }: { readonly me: Me; readonly onFollow: () => void }): JSX.Element {
  const { linkTo, brands, format } = useScope();
  const { connection, progress } = useLive();
  const { asOf = null, partial = false } = brands.table ?? {};
  const [today] = useState(() => dayOf(Date.now()));
  const isToday = asOf?.slice(0, 10) === today;
  const time = asOf === null ? '' : isToday ? format.clock(asOf) : format.time(asOf);
  const [level, text] = useMemo((): readonly [string, string] => {
    if (connection === 'lost') return ['attention', 'Server not reached'];
    if (progress != null) return ['busy', 'Sync running'];
    if (asOf === null) return ['attention', 'No data yet'];
    return partial ? ['attention', `Incomplete, as of ${time}`] : ['good', `Complete as of ${time}`];
  }, [connection, progress, asOf, partial, time]);
  const contents = (
    <>
      <span class="status-dot" data-level={level} />
      <span>{text}</span>
    </>
  );
  return (
    <div class="side-foot">
      {me.features.operations ? (
        <Link class="side-link" to={linkTo('/operations', OF_PAGE)} onFollow={onFollow}>
          {contents}
        </Link>
      ) : (
        <span class="side-link">{contents}</span>
      )}
    </div>
  );
}

interface BottomBarProps {
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly onFollow: () => void;
}

// The main pages on phones; the others are behind the last entry.
function BottomBar({ isOpen, onToggle, onFollow }: BottomBarProps): JSX.Element {
  return (
    <nav class="bottom" aria-label="Main pages">
      {PAGES.filter(({ isMain }) => isMain === true).map((page) => (
        <PageLink key={page.pattern} page={page} onFollow={onFollow} />
      ))}
      <button type="button" aria-expanded={isOpen} aria-controls="navigation" onClick={onToggle}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
