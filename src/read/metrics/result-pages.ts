import type { ChangeKind } from '../../metrics/explain/history-queries.ts';
import { OPPORTUNITY_TITLES, type OpportunityKind } from '../../metrics/explain/opportunity-kinds.ts';

/** Path of a data page, and the parameters of its address besides the filters. */
export interface PageView {
  readonly path: string;
  readonly more?: Readonly<Record<string, string>>;
}

/** The start page. */
export const OVERVIEW: PageView = { path: '/' };

const CONTENT: PageView = { path: '/content' };
const FORUM: PageView = { path: '/content', more: { view: 'forum' } };
const PLANS: PageView = { path: '/content', more: { view: 'actions' } };
const PROMPTS: PageView = { path: '/prompts' };
const COMPETITORS: PageView = { path: '/competitors' };
const OPERATIONS: PageView = { path: '/operations' };

/** Pages that show the changes of a kind. */
export const CHANGE_PAGES: Readonly<Record<ChangeKind, PageView>> = {
  prompt_lost: COMPETITORS,
  prompt_won: PROMPTS,
  prompt_fell: PROMPTS,
  source_added: { path: '/sources' },
  alert: { path: '/alerts' },
  article_added: CONTENT,
  article_state: CONTENT,
  thread_added: FORUM,
  thread_state: FORUM,
  plan_generated: PLANS,
  action_done: PLANS,
  prompt_added: PROMPTS,
  prompt_edited: PROMPTS,
  prompt_paused: PROMPTS,
  prompt_resumed: PROMPTS,
  prompt_moved: PROMPTS,
  prompt_deleted: PROMPTS,
  competitor_added: COMPETITORS,
  competitor_renamed: COMPETITORS,
  competitor_removed: COMPETITORS,
  upstream_drift: OPERATIONS,
  verification_failed: OPERATIONS,
};

/** Id of the block of lost prompts, which is far down on its page. */
export const LOST_PROMPTS_BLOCK = 'lost-prompts';

/** The page of opportunities. */
export const OPPORTUNITIES: PageView = { path: '/opportunities' };

/** Returns the page of the opportunities of a kind. */
export function opportunitiesOf(kind: OpportunityKind): PageView {
  return { ...OPPORTUNITIES, more: { 'only.kind': OPPORTUNITY_TITLES[kind] } };
}
