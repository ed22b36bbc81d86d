import type { FunctionComponent } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { PageProps } from '../state/router.tsx';

export interface PageEntry {
  /** Path with parameters, such as `/prompts/:id`. */
  readonly pattern: string;
  /** Entry of the navigation; null for pages that others link to. */
  readonly label: string | null;
  /** Group of the navigation; pages that others link to have none. */
  readonly group?: '' | 'Act' | 'Investigate';
  readonly icon?: IconName;
  /** Whether phones show it in their bar. */
  readonly isMain?: true;
  readonly title: string;
  /** Loads the page; each page is a chunk of its own. */
  readonly load: () => Promise<{ readonly default: FunctionComponent<PageProps> }>;
}

/** The pages, in the order of the navigation. The first pattern that matches is shown. */
export const PAGES: readonly PageEntry[] = [
  {
    pattern: '/',
    label: 'Overview',
    group: '',
    icon: 'overview',
    isMain: true,
    title: 'Overview',
    load: () => import('./overview/overview.tsx'),
  },
  {
    pattern: '/prompts',
    label: 'Prompts',
    group: '',
    icon: 'prompts',
    isMain: true,
    title: 'Prompts',
    load: () => import('./prompts/prompts-page.tsx'),
  },
  {
    pattern: '/prompts/:id',
    label: null,
    title: 'Prompt',
    load: () => import('./prompts/prompt-page.tsx'),
  },
  {
    pattern: '/responses',
    label: 'Responses',
    group: '',
    icon: 'responses',
    title: 'Responses',
    load: () => import('./responses/responses-page.tsx'),
  },
  {
    pattern: '/responses/:id',
    label: null,
    title: 'Response',
    load: () => import('./responses/response-page.tsx'),
  },
  {
    pattern: '/competitors',
    label: 'Competitors',
    group: '',
    icon: 'competitors',
    isMain: true,
    title: 'Competitors',
    load: () => import('./competitors/competitors.tsx'),
  },
  {
    pattern: '/sources',
    label: 'Sources',
    group: '',
    icon: 'sources',
    title: 'Sources',
    load: () => import('./sources/sources.tsx'),
  },
  {
    pattern: '/topics',
    label: 'Topics',
    group: '',
    icon: 'topics',
    title: 'Topics and tags',
    load: () => import('./topics/topics.tsx'),
  },
  {
    pattern: '/traffic',
    label: 'Traffic',
    group: '',
    icon: 'traffic',
    title: 'Traffic',
    load: () => import('./traffic/traffic.tsx'),
  },
  {
    pattern: '/opportunities',
    label: 'Opportunities',
    group: 'Act',
    icon: 'opportunities',
    title: 'Opportunities',
    load: () => import('./opportunities/opportunities.tsx'),
  },
  {
    pattern: '/content',
    label: 'Content',
    group: 'Act',
    icon: 'content',
    title: 'Content',
    load: () => import('./content/content.tsx'),
  },
  {
    pattern: '/alerts',
    label: 'Alerts',
    group: 'Act',
    icon: 'alerts',
    isMain: true,
    title: 'Alerts',
    load: () => import('./alerts/alerts.tsx'),
  },
  {
    pattern: '/explain',
    label: 'Explain',
    group: 'Investigate',
    icon: 'explain',
    title: 'Explain',
    load: () => import('./explain/explain.tsx'),
  },
  {
    pattern: '/compare',
    label: 'Compare',
    group: 'Investigate',
    icon: 'compare',
    title: 'Compare',
    load: () => import('./compare/compare.tsx'),
  },
  {
    pattern: '/sql',
    label: 'SQL',
    group: 'Investigate',
    icon: 'sql',
    title: 'SQL',
    load: () => import('./sql/sql-page.tsx'),
  },
  {
    pattern: '/operations',
    label: null,
    title: 'Operations',
    load: () => import('./operations/operations.tsx'),
  },
  {
    pattern: '/setup',
    label: null,
    title: 'Set up',
    load: () => import('./setup.tsx'),
  },
];

/** Pages that are shown instead of the page of the address, because of the reader's rights or the state of the data. */
export const SIGN_IN: PageEntry = {
  pattern: '/sign-in',
  label: null,
  title: 'Sign in',
  load: () => import('./sign-in.tsx'),
};
export const FLEET: PageEntry = { pattern: '/', label: null, title: 'Workspaces', load: () => import('./fleet.tsx') };
export const FIRST_RUN: PageEntry = {
  pattern: '/',
  label: null,
  title: 'First sync',
  load: () => import('./first-run.tsx'),
};
