import type { JSX } from 'preact';
import type { TableSpec } from '../../components/data-table.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf } from '../../state/table.ts';

interface Winner {
  readonly id: string;
  readonly name: string;
  readonly mentions: number;
}

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
      value: (row) => winnersOf(row)[0]?.name ?? null,
      cell: (row) => <Winners row={row} />,
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

function Winners({ row }: { readonly row: Row }): JSX.Element {
  const { linkTo, entityColour, format } = useScope();
  const winners = winnersOf(row);
  if (winners.length === 0) return <span class="quiet">no tracked competitor</span>;
  return (
    <ul>
      {winners.map(({ id, name, mentions }) => (
        <li key={id} class="named">
          <EntityDot colour={entityColour(id)} />
          <Link to={linkTo('/competitors', { competitor: id })} dir="auto" class="clamped">
            {name}
          </Link>{' '}
          <span class="quiet">
            {format.value(mentions, 'count')} of {format.value(numberOf(row['streak_responses']), 'count')}
          </span>
        </li>
      ))}
    </ul>
  );
}

function winnersOf(row: Row): readonly Winner[] {
  return Array.isArray(row['lost_to']) ? (row['lost_to'] as readonly Winner[]) : [];
}
