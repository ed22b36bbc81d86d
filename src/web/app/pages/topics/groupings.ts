/** A way to group prompts. */
export interface Grouping {
  /** Value of `view` in the address, and dimension of the metrics layer. */
  readonly id: 'topic' | 'tag' | 'funnel_stage' | 'branded';
  readonly label: string;
  /** One group, in the middle of a sentence. */
  readonly noun: string;
  /** Value of the parameter `group_by` of declared queries. */
  readonly groupBy: string;
  /** Label of the column with the groups. */
  readonly column: string;
  /** Column of the dimension with the id; the name is in the column `id`. */
  readonly idColumn: string;
}

/** The ways to group prompts, in the order of the tabs. */
export const GROUPINGS: readonly Grouping[] = [
  { id: 'topic', label: 'Topics', noun: 'topic', groupBy: 'topic', column: 'Topic', idColumn: 'topic_id' },
  { id: 'tag', label: 'Tags', noun: 'tag', groupBy: 'tag', column: 'Tag', idColumn: 'tag_id' },
  {
    id: 'funnel_stage',
    label: 'Funnel stages',
    noun: 'funnel stage',
    groupBy: 'funnelStage',
    column: 'Funnel stage',
    idColumn: 'funnel_stage',
  },
  { id: 'branded', label: 'Branded', noun: 'kind of prompt', groupBy: 'branded', column: 'Kind', idColumn: 'branded' },
];
