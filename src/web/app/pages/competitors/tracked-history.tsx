import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';

const CHANGES: Readonly<Record<string, string>> = {
  inserted: 'first seen',
  updated: 'changed',
  deleted: 'removed',
  restored: 'tracked again',
};

const COLUMNS: readonly GivenColumn[] = [
  { name: 'competitor', dot: () => null, value: (row) => textOf(row['name']) || 'without a name' },
  { name: 'state', label: 'Now', value: stateOf },
  {
    name: 'change',
    label: 'Event',
    value: ({ change }) => CHANGES[textOf(change)] ?? (textOf(change) || 'no history stored'),
  },
  { name: 'valid_from', label: 'Seen at', about: 'When a sync first saw it (UTC).' },
  'mentions',
  { name: 'last_mentioned_at', label: 'Last mention' },
];
const FACETS = ['state'];

/** The competitors that are or were tracked, with the times of their changes; or the history of one of them. */
export function TrackedHistory({ only }: { readonly only?: string }): JSX.Element {
  const { params } = useScope();
  const data = useQuery('tracked_competitors', params);
  const rows = useMemo(
    () => toRecords(data.table).filter((row) => only === undefined || row['competitor_id'] === only),
    [data.table, only],
  );
  return (
    <TableBlock
      title="Tracked and removed"
      about="When a sync first saw each competitor and each change of it. The API omits removed competitors; their mentions in stored responses remain."
      data={data}
      empty="No competitor was ever tracked."
      rows={rows}
      columns={COLUMNS}
      facets={FACETS}
      {...(only === undefined ? { sentence: formerOf(rows) } : {})}
    />
  );
}

function formerOf(rows: readonly Row[]): string {
  const former = new Set(rows.filter((row) => row['is_tracked'] === false).map((row) => row['competitor_id'])).size;
  if (former === 0) return 'No mentioned competitor was removed since the first sync.';
  return `${former} ${former === 1 ? 'competitor is' : 'competitors are'} no longer tracked.`;
}

function stateOf(row: Row): string {
  if (row['is_tracked'] === true) return 'tracked';
  return row['removed_at'] === null && row['change'] === null ? 'never tracked' : 'removed';
}
