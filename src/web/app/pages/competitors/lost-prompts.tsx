import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { promptColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { EntityDot, Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

interface Winner {
  readonly id: string;
  readonly name: string;
  readonly mentions: number;
}

/** Prompts whose responses stopped mentioning the brand, and the competitors that they mention since. */
export function LostPrompts(): JSX.Element {
  const { params } = useScope();
  const data = useQuery('prompts_lost', params);
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useColumns(params !== null && (params['engine']?.length ?? 0) > 0);
  return (
    <Frame
      title="Lost prompts"
      about="Prompts with a streak of responses without the brand that is unlikely at the earlier rate, and the competitors mentioned since. Over all stored days, corrected for the number of prompts."
      data={data}
      empty="No lost prompts: chance can explain every streak of responses without the brand."
    >
      <DataTable
        key={columns.length}
        caption="Lost prompts"
        items={items}
        columns={columns}
        keyOf={(row) => `${textOf(row['prompt_id'])} ${textOf(row['engine'])}`}
        isPlain={items.length <= 10}
      />
    </Frame>
  );
}

function useColumns(hasEngine: boolean): readonly ColumnSpec<Row>[] {
  const { linkTo, format, engineLabel } = useScope();
  return useMemo(() => {
    const engine: ColumnSpec<Row> = {
      id: 'engine',
      label: 'Engine',
      value: (row) => engineLabel(textOf(row['engine'])),
    };
    const columns: readonly ColumnSpec<Row>[] = [
      promptColumn(linkTo),
      {
        id: 'lost_to',
        label: 'Lost to',
        about: 'The three competitors that most responses since then mention.',
        value: (row) => winnersOf(row)[0]?.name ?? null,
        cell: (row) => <Winners row={row} />,
      },
      measuredColumn({
        id: 'earlier_visibility',
        label: 'Visibility before',
        bounds: 'earlier',
        n: 'earlier_responses',
      }),
      {
        id: 'streak_responses',
        label: 'Since then',
        about: 'Responses after the last one that mentions the brand.',
        unit: 'count',
        value: (row) => numberOf(row['streak_responses']),
        cell: (row) => (
          <>
            0 of {format.value(numberOf(row['streak_responses']), 'count')}
            <span class="beside">{format.value(numberOf(row['streak_days']), 'count')} days</span>
          </>
        ),
      },
      {
        id: 'last_mentioned_at',
        label: 'Last mention',
        unit: 'time',
        value: (row) => textOf(row['last_mentioned_at']),
        cell: (row) => <Timestamp time={textOf(row['last_mentioned_at']) || null} />,
      },
      {
        id: 'adjusted_p',
        label: 'p',
        about: 'Probability of such a streak without a change, corrected for the number of prompts.',
        unit: 'number',
        value: (row) => numberOf(row['adjusted_p']),
        cell: (row) => format.p(numberOf(row['adjusted_p'])),
      },
    ];
    return hasEngine ? [...columns.slice(0, 1), engine, ...columns.slice(1)] : columns;
  }, [linkTo, format, engineLabel, hasEngine]);
}

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
