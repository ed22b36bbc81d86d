import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

const CHANGES: Readonly<Record<string, string>> = {
  inserted: 'first seen',
  updated: 'changed',
  deleted: 'removed',
  restored: 'tracked again',
};

/** The competitors that are or were tracked, with the times of their changes; or the history of one of them. */
export function TrackedHistory({ only }: { readonly only?: string }): JSX.Element {
  const { params } = useScope();
  const data = useQuery('tracked_competitors', params);
  const items = useMemo(
    () => toRecords(data.table).filter((row) => only === undefined || row['competitor_id'] === only),
    [data.table, only],
  );
  const former = new Set(items.filter((row) => row['is_tracked'] === false).map((row) => row['competitor_id'])).size;
  const columns = useColumns();
  return (
    <Frame
      title="Tracked and removed"
      about="When a sync first saw each competitor and each change of it. The API omits removed competitors; their mentions in stored responses remain."
      data={data}
      empty="No competitor was ever tracked."
    >
      {only === undefined && (
        <p class="quiet">
          {former === 0
            ? 'No mentioned competitor was removed since the first sync.'
            : `${former} ${former === 1 ? 'competitor is' : 'competitors are'} no longer tracked.`}
        </p>
      )}
      <DataTable
        caption="Tracked and removed"
        items={items}
        columns={columns}
        keyOf={(row) => `${textOf(row['competitor_id'])} ${textOf(row['valid_from'])} ${textOf(row['change'])}`}
        isPlain={items.length <= 12}
      />
    </Frame>
  );
}

function useColumns(): readonly ColumnSpec<Row>[] {
  const { linkTo } = useScope();
  return useMemo(
    () => [
      {
        id: 'competitor',
        label: 'Competitor',
        value: (row) => textOf(row['name']),
        cell: (row) => (
          <Link to={linkTo('/competitors', { competitor: textOf(row['competitor_id']) })} dir="auto" class="clamped">
            {textOf(row['name']) || 'without a name'}
          </Link>
        ),
      },
      {
        id: 'state',
        label: 'Now',
        value: (row) => stateOf(row),
        cell: (row) => <span class="tag">{stateOf(row)}</span>,
      },
      {
        id: 'change',
        label: 'Event',
        value: (row) => CHANGES[textOf(row['change'])] ?? (textOf(row['change']) || 'no history stored'),
      },
      {
        id: 'valid_from',
        label: 'Seen at',
        about: 'When a sync first saw it (UTC).',
        unit: 'time',
        value: (row) => textOf(row['valid_from']) || null,
        cell: (row) => <Timestamp time={textOf(row['valid_from']) || null} />,
      },
      {
        id: 'mentions',
        label: 'Mentions',
        about: 'Responses of the range that mention it. Other filters do not apply.',
        unit: 'count',
        value: (row) => numberOf(row['mentions']),
      },
      {
        id: 'last_mentioned_at',
        label: 'Last mention',
        unit: 'time',
        value: (row) => textOf(row['last_mentioned_at']) || null,
        cell: (row) => <Timestamp time={textOf(row['last_mentioned_at']) || null} />,
      },
    ],
    [linkTo],
  );
}

function stateOf(row: Row): string {
  if (row['is_tracked'] === true) return 'tracked';
  return row['removed_at'] === null && row['change'] === null ? 'never tracked' : 'removed';
}
