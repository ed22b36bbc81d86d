import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { plural } from '../../state/amounts.ts';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, toRecords } from '../../state/table.ts';

const SHOWN_MAX = 10;
const COLUMNS: readonly GivenColumn[] = [
  'prompt',
  { name: 'visibility_before', label: 'Before', unit: 'ratio' },
  { name: 'visibility', label: 'Now' },
  { name: 'visibility_change', label: 'Change' },
];

/** Prompts with significant changes of visibility, corrected for the number of prompts. */
export function PromptMovers(): JSX.Element {
  const { params, filters, linkTo } = useScope();
  const isCompared = filters.compareTo !== 'none';
  const data = useMetrics(
    params && {
      ...params,
      metrics: 'visibility',
      group_by: 'prompt',
      ...(isCompared ? { order: 'visibility_p' } : {}),
    },
  );
  const { rows: all = [], notCompared = null } = data.table ?? {};
  const moved = useMemo(() => {
    const size = (row: Row): number => Math.abs(numberOf(row['visibility_change']) ?? 0);
    const found = toRecords(data.table).filter((row) => row['visibility_significant'] === true);
    return found.sort((a, b) => size(b) - size(a));
  }, [data.table]);
  const rows = useMemo(() => moved.slice(0, SHOWN_MAX), [moved]);
  const changed = `of ${plural(all.length, 'prompt')} changed beyond chance.`;
  const none = isCompared
    ? (notCompared ?? `None ${changed} Longer ranges have larger samples.`)
    : 'Choose a comparison in the filters to see changes.';
  return (
    <TableBlock
      title="Prompts that moved"
      about="Only changes of visibility that chance does not explain, corrected for the number of prompts."
      data={data}
      to={linkTo('/prompts')}
      empty={all.length === 0 ? 'No prompt has responses in this range.' : none}
      rows={rows}
      columns={COLUMNS}
      sentence={`${moved.length} ${changed}`}
    />
  );
}
