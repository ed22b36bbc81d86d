/** A way to group prompts. */
export interface Grouping {
  /** Value of `view` in the address, and dimension of the metrics layer. */
  readonly id: 'topic' | 'tag' | 'funnel_stage' | 'branded';
  readonly label: string;
  /** One group, in the middle of a sentence. */
  readonly noun: string;
  /** Value of the parameter `group_by` of declared queries. */
  readonly groupBy: string;
  /** Columns of the dimension with the id and the name. */
  readonly idColumn: string;
  readonly labelColumn: string;
}

/** The ways to group prompts, in the order of the tabs. */
export const GROUPINGS: readonly Grouping[] = [
  { id: 'topic', label: 'Topics', noun: 'topic', groupBy: 'topic', idColumn: 'topic_id', labelColumn: 'topic' },
  { id: 'tag', label: 'Tags', noun: 'tag', groupBy: 'tag', idColumn: 'tag_id', labelColumn: 'tag' },
  {
    id: 'funnel_stage',
    label: 'Funnel stages',
    noun: 'funnel stage',
    groupBy: 'funnelStage',
    idColumn: 'funnel_stage',
    labelColumn: 'funnel_stage',
  },
  {
    id: 'branded',
    label: 'Branded',
    noun: 'kind of prompt',
    groupBy: 'branded',
    idColumn: 'branded',
    labelColumn: 'branded',
  },
];
