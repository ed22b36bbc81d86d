import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Delta, EmptyState } from '../../components/parts.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Change, changeOf } from '../../state/series.ts';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

interface Mover {
  readonly id: string;
  readonly text: string;
  readonly before: number | null;
  readonly now: number | null;
  readonly beforeSample: number | null;
  readonly sample: number | null;
  readonly change: Change;
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
      linkLabel="All prompts"
      empty="No prompt has responses in this range."
    >
      {!isCompared && <EmptyState>Choose a comparison in the filters to see changes.</EmptyState>}
      {isCompared && movers.length === 0 && (
        <EmptyState>
          None of {format.value(data.table?.rows.length ?? 0, 'count')} prompts changed significantly. Longer ranges
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
            changed significantly.
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
      before: numberOf(row['visibility_before']),
      now: numberOf(row['visibility']),
      beforeSample: numberOf(row['visibility_before_n']),
      sample: numberOf(row['visibility_n']),
      change: changeOf(row, 'visibility'),
    }))
    .filter(({ change }) => change.isSignificant === true);
  return movers.sort((a, b) => Math.abs(b.change.change ?? 0) - Math.abs(a.change.change ?? 0));
}

function useColumns(): readonly ColumnSpec<Mover>[] {
  const { linkTo, format } = useScope();
  return useMemo(
    () => [
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
      {
        id: 'change',
        label: 'Change',
        unit: 'ratio',
        value: ({ change }) => change.change,
        cell: ({ change }) => <Delta {...change} unit="ratio" isHigherBetter isShort />,
      },
      { id: 'before', label: 'Before', unit: 'ratio', value: ({ before }) => before },
      { id: 'now', label: 'Now', unit: 'ratio', value: ({ now }) => now },
      {
        id: 'n',
        label: 'n',
        about: 'Responses before and now.',
        unit: 'count',
        value: ({ sample }) => sample,
        cell: ({ beforeSample, sample }) => `${format.value(beforeSample, 'count')} / ${format.value(sample, 'count')}`,
      },
    ],
    [linkTo, format],
  );
}
