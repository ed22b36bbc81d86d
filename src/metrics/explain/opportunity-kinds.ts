/** Kinds of opportunities with their titles, in the order in which they are searched. */
export const OPPORTUNITY_TITLES = {
  source_gap: 'Sources cited for competitors only',
  competitor_wins: 'Prompts that competitors win',
  forum_thread: 'Forum threads that responses cite',
  page_cited_once: 'Own pages cited once',
} as const;

/** A kind of opportunity. */
export type OpportunityKind = keyof typeof OPPORTUNITY_TITLES;
