import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { TableBlock } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/parts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, toRecords } from '../../state/table.ts';

const SHOWN_MAX = 10;
const COLUMNS: readonly GivenColumn[] = [
  'prompt',
  { name: 'visibility_before', label: 'Before', unit: 'ratio' },
  { name: 'visibility', label: 'Now' },
  { name: 'visibility_change', label: 'Change' },
];

/** Prompts with significant changes of visibility, corrected for the number of prompts. */
export function PromptMovers(): JSX.Element {
  const { params, filters, linkTo, format } = useScope();
  const isCompared = filters.compareTo !== 'none';
  const data = useMetrics(
    params === null
      ? null
      : { ...params, metrics: 'visibility', group_by: 'prompt', ...(isCompared ? { order: 'visibility_p' } : {}) },
  );
  const moved = useMemo(() => {
    const size = (row: Readonly<Record<string, unknown>>): number => Math.abs(numberOf(row['visibility_change']) ?? 0);
    const found = toRecords(data.table).filter((row) => row['visibility_significant'] === true);
    return found.sort((a, b) => size(b) - size(a));
  }, [data.table]);
  const frame = {
    title: 'Prompts that moved',
    about: 'Only changes of visibility that chance does not explain, corrected for the number of prompts.',
    data,
    to: linkTo('/prompts'),
    empty: 'No prompt has responses in this range.',
  };
  const all = `${format.value(data.table?.rows.length ?? 0, 'count')} prompts changed beyond chance.`;
  const rows = useMemo(() => moved.slice(0, SHOWN_MAX), [moved]);
  if (isCompared && moved.length > 0)
    return <TableBlock {...frame} rows={rows} columns={COLUMNS} sentence={`${moved.length} of ${all}`} />;
  return (
    <Frame {...frame}>
      <EmptyState>
        {isCompared
          ? `None of ${all} Longer ranges have larger samples.`
          : 'Choose a comparison in the filters to see changes.'}
      </EmptyState>
    </Frame>
  );
}
