import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { changeColumn, statisticColumn } from '../../components/measured.tsx';
import { EmptyState } from '../../components/parts.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Statistic, statisticOf } from '../../state/series.ts';
import { textOf, toRecords } from '../../state/table.ts';

interface Mover {
  readonly id: string;
  readonly text: string;
  readonly visibility: Statistic;
}

const SHOWN_MAX = 10;

/** Prompts with significant changes of visibility, corrected for the number of prompts. */
export function PromptMovers(): JSX.Element {
  const { params, filters, linkTo, format } = useScope();
  const isCompared = filters.compareTo !== 'none';
  const data = useMetrics(
    params === null
      ? null
      : { ...params, metrics: 'visibility', group_by: 'prompt', ...(isCompared ? { order: 'visibility_p' } : {}) },
  );
  const movers = useMemo(() => moversOf(data.table), [data.table]);
  const columns = useColumns();
  return (
    <Frame
      title="Prompts that moved"
      about="Only changes of visibility that chance does not explain, corrected for the number of prompts."
      data={data}
      to={linkTo('/prompts')}
      empty="No prompt has responses in this range."
    >
      {!isCompared && <EmptyState>Choose a comparison in the filters to see changes.</EmptyState>}
      {isCompared && movers.length === 0 && (
        <EmptyState>
          None of {format.value(data.table?.rows.length ?? 0, 'count')} prompts changed beyond chance. Longer ranges
          have larger samples.
        </EmptyState>
      )}
      {isCompared && movers.length > 0 && (
        <>
          <DataTable
            caption="Prompts that moved"
            items={movers.slice(0, SHOWN_MAX)}
            columns={columns}
            keyOf={({ id }) => id}
            isPlain
          />
          <p class="quiet">
            {format.value(movers.length, 'count')} of {format.value(data.table?.rows.length ?? 0, 'count')} prompts
            changed beyond chance.
          </p>
        </>
      )}
    </Frame>
  );
}

function moversOf(table: Parameters<typeof toRecords>[0]): readonly Mover[] {
  const movers = toRecords(table)
    .map((row) => ({
      id: textOf(row['prompt_id']),
      text: textOf(row['prompt']),
      visibility: statisticOf(row, 'visibility'),
    }))
    .filter(({ visibility }) => visibility.change.isSignificant === true);
  const sizeOf = ({ visibility }: Mover): number => Math.abs(visibility.change.change ?? 0);
  return movers.sort((a, b) => sizeOf(b) - sizeOf(a));
}

function useColumns(): readonly ColumnSpec<Mover>[] {
  const { linkTo } = useScope();
  return useMemo(() => {
    const common = {
      unit: 'ratio',
      statistic: ({ visibility }: Mover) => visibility,
      nameOf: ({ text }: Mover) => text,
    } as const;
    return [
      {
        id: 'prompt',
        label: 'Prompt',
        isWide: true,
        value: ({ text }) => text,
        cell: ({ id, text }) => (
          <Link to={linkTo(`/prompts/${id}`)} dir="auto" class="clamped" title={text}>
            {text}
          </Link>
        ),
      },
      { id: 'before', label: 'Before', unit: 'ratio', value: ({ visibility }) => visibility.before },
      statisticColumn<Mover>({ ...common, id: 'now', label: 'Now' }),
      { ...changeColumn<Mover>({ ...common, id: 'change', label: 'Change' }), isBeyondChance: () => null },
    ];
  }, [linkTo]);
}
