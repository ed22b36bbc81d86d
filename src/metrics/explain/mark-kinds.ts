import { OPPORTUNITY_TITLES } from './opportunity-kinds.ts';

/** What readers of a workspace mark: the owner of a domain, and actions and opportunities that are done or hidden. */
export const MARK_KINDS = ['domain', 'action', ...Object.keys(OPPORTUNITY_TITLES)] as const;
/** Owners of a domain besides a competitor, which is given by its id or name. */
export const OWNER_MARKS = { ours: 'Ours', forum: 'A forum', press: 'Press', other: 'Somebody else' } as const;
/** States of actions and opportunities. */
export const STATE_MARKS = ['done', 'hidden'] as const;
