import type { FunctionComponent } from 'preact';
import type { PageProps } from '../state/router.tsx';

export interface PageEntry {
  /** Path with parameters, such as `/prompts/:id`. The first part is also the name of its icon. */
  readonly pattern: string;
  readonly title: string;
  /** Group of the navigation; pages that others link to have none. */
  readonly group?: '' | 'Act' | 'Investigate';
  /** Name in the navigation; the default is the title. */
  readonly label?: string;
  /** Whether phones show it in their bar. */
  readonly isMain?: true;
  /** Loads the page; each page is a chunk of its own. */
  readonly load: () => Promise<{ readonly default: FunctionComponent<PageProps> }>;
}

/** The pages, in the order of the navigation. The first pattern that matches is shown. */
export const PAGES: readonly PageEntry[] = [
  {
    pattern: '/',
    title: 'Overview',
    group: '',
    isMain: true,
    load: () => import('./overview/overview.tsx'),
  },
  {
    pattern: '/prompts',
    title: 'Prompts',
    group: '',
    isMain: true,
    load: () => import('./prompts/prompts-page.tsx'),
  },
  {
    pattern: '/prompts/:id',
    title: 'Prompt',
    load: () => import('./prompts/prompt-page.tsx'),
  },
  {
    pattern: '/responses',
    title: 'Responses',
    group: '',
    load: () => import('./responses/responses-page.tsx'),
  },
  {
    pattern: '/responses/:id',
    title: 'Response',
    load: () => import('./responses/response-page.tsx'),
  },
  {
    pattern: '/competitors',
    title: 'Competitors',
    group: '',
    isMain: true,
    load: () => import('./competitors/competitors.tsx'),
  },
  {
    pattern: '/sources',
    title: 'Sources',
    group: '',
    load: () => import('./sources/sources.tsx'),
  },
  {
    pattern: '/topics',
    title: 'Topics and tags',
    label: 'Topics',
    group: '',
    load: () => import('./topics/topics.tsx'),
  },
  {
    pattern: '/traffic',
    title: 'Traffic',
    group: '',
    load: () => import('./traffic/traffic.tsx'),
  },
  {
    pattern: '/opportunities',
    title: 'Opportunities',
    group: 'Act',
    load: () => import('./opportunities/opportunities.tsx'),
  },
  {
    pattern: '/content',
    title: 'Content',
    group: 'Act',
    load: () => import('./content/content.tsx'),
  },
  {
    pattern: '/alerts',
    title: 'Alerts',
    group: 'Act',
    isMain: true,
    load: () => import('./alerts/alerts.tsx'),
  },
  {
    pattern: '/explain',
    title: 'Explain',
    group: 'Investigate',
    load: () => import('./explain/explain.tsx'),
  },
  {
    pattern: '/compare',
    title: 'Compare',
    group: 'Investigate',
    load: () => import('./compare/compare.tsx'),
  },
  {
    pattern: '/sql',
    title: 'SQL',
    group: 'Investigate',
    load: () => import('./sql/sql-page.tsx'),
  },
  {
    pattern: '/reports',
    title: 'Reports',
    group: 'Investigate',
    load: () => import('./reports.tsx'),
  },
  {
    pattern: '/operations',
    title: 'Operations',
    load: () => import('./operations/operations.tsx'),
  },
  {
    pattern: '/setup',
    title: 'Set up',
    load: () => import('./setup.tsx'),
  },
];

/** Pages that are shown instead of the page of the address, because of the reader's rights or the state of the data. */
export const SIGN_IN: PageEntry = { pattern: '/sign-in', title: 'Sign in', load: () => import('./sign-in.tsx') };
export const FLEET: PageEntry = { pattern: '/', title: 'Workspaces', load: () => import('./fleet.tsx') };
export const FIRST_RUN: PageEntry = { pattern: '/', title: 'First sync', load: () => import('./first-run.tsx') };
