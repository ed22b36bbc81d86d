import type { TableSpec } from '../../components/data-table.tsx';
import { EntityList, namesOf } from '../../components/entity-list.tsx';
import { numberOf, textOf } from '../../state/table.ts';

/** Prompts whose responses stopped mentioning the brand, and the competitors that they mention since. */
export const LOST_PROMPTS: TableSpec = {
  query: 'prompts_lost',
  title: 'Lost prompts',
  about:
    'Prompts with a streak of responses without the brand that is unlikely at the earlier rate, and the competitors mentioned since. Over all stored days, corrected for the number of prompts.',
  empty: 'No lost prompts: chance can explain every streak of responses without the brand.',
  columns: [
    'prompt',
    {
      name: 'lost_to',
      about: 'The three competitors that most responses since then mention.',
      value: ({ lost_to: winners }) => namesOf(winners)[0]?.name ?? null,
      cell: ({ lost_to: winners, streak_responses: all }, { format }) => (
        <EntityList
          entities={namesOf(winners)}
          beside={({ mentions }) => `${format.value(mentions, 'count')} of ${format.value(all, 'count')}`}
        />
      ),
    },
    { name: 'earlier_visibility', label: 'Visibility before', bounds: 'earlier', n: 'earlier_responses' },
    {
      name: 'streak_responses',
      label: 'Since then',
      below: (row, { format }) => `in ${format.value(row['streak_days'], 'count')} days, none with the brand`,
    },
    { name: 'last_mentioned_at', label: 'Last mention' },
  ],
  hidden: [
    {
      name: 'engine',
      value: ({ engine }, { engineLabel }) => (engine === null ? null : engineLabel(textOf(engine))),
    },
    { name: 'adjusted_p', label: 'p', cell: (row, { format }) => format.p(numberOf(row['adjusted_p'])) },
  ],
};
