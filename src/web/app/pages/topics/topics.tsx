import type { JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import { DeclaredTable, type TableSpec } from '../../components/data-table.tsx';
import { MeasureOverTime } from '../../components/measure-over-time.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ViewTabs } from '../../components/tabs.tsx';
import { listOf } from '../../components/version-list.tsx';
import { useQuery } from '../../state/data.tsx';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { GroupTable } from './group-table.tsx';
import { GROUPINGS, type Grouping } from './groupings.ts';
import { GroupsThen } from './groups-then.tsx';

/** The prompts that moved between groups, with the times at which a sync saw it. */
const MOVES: TableSpec = {
  query: 'group_moves',
  of: 'brand',
  title: 'Prompts that moved',
  columns: [
    'prompt',
    { name: 'left_groups', label: 'Left', value: (row) => listOf(row['left_groups']).join(', ') || 'none' },
    { name: 'joined_groups', label: 'Joined', value: (row) => listOf(row['joined_groups']).join(', ') || 'none' },
    { name: 'moved_at', label: 'Seen at' },
  ],
};

/** Series that are drawn; more have no colours of their own. */
const SERIES_MAX = 9;

/** Measures by groups of prompts, and the history of the groups. */
export default function Topics(): JSX.Element {
  const [view] = useSearchParam('view', GROUPINGS);
  const grouping = GROUPINGS.find(({ id }) => id === view) as Grouping;
  return (
    <>
      <PageHead title="Topics and tags" filters={{}} />
      <ViewTabs label="Groups of prompts" path="/topics" views={GROUPINGS} current={view} />
      <div class="grid">
        <GroupTable key={view} grouping={grouping} />
        <GroupsOverTime grouping={grouping} />
        <GroupsThen key={view} grouping={grouping} />
        <DeclaredTable
          {...MOVES}
          key={`moves ${view}`}
          about={`Prompts whose ${grouping.noun} changed, of any day. A move changes the numbers of both groups, also for earlier days, because the API counts by the current groups.`}
          empty={`No prompt changed its ${grouping.noun} since the first sync.`}
          request={{ group_by: grouping.groupBy }}
        />
      </div>
    </>
  );
}

function GroupsOverTime({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { params } = useScope();
  const { id, noun, groupBy, idColumn } = grouping;
  const groups = useQuery('groups_then', params && { ...params, group_by: groupBy });
  const drawn = useMemo(
    () =>
      toRecords(groups.table)
        .slice(0, SERIES_MAX)
        .map((row) => textOf(row['group_id']))
        .sort(),
    [groups.table],
  );
  const colourOf = useCallback(
    (group: string | null) => (group !== null && drawn.includes(group) ? 1 + drawn.indexOf(group) : null),
    [drawn],
  );
  const isMore = (groups.table?.rows.length ?? 0) > SERIES_MAX;
  return (
    <MeasureOverTime
      title={`Visibility by ${noun}`}
      about={`Share of responses that mention the brand, by the current groups of the prompts.${isMore ? ` The ${SERIES_MAX} with the most responses are drawn.` : ''}`}
      measure="visibility"
      groupBy={id}
      idColumn={idColumn}
      labelColumn={id}
      colourOf={colourOf}
      empty={`No prompt with responses in this range has a ${noun}.`}
    />
  );
}
