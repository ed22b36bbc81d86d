import { OPPORTUNITY_TITLES } from './opportunity-kinds.ts';

/** Kinds of marks: the owner of a domain, and the state of an action or opportunity. */
export const MARK_KINDS = ['domain', 'action', ...Object.keys(OPPORTUNITY_TITLES)] as const;
/** Owners of a domain besides a competitor, which is given by its id or name. */
export const OWNER_MARKS = { ours: 'Ours', forum: 'A forum', press: 'Press', other: 'Somebody else' } as const;
/** States of actions and opportunities. */
export const STATE_MARKS = ['done', 'hidden'] as const;
