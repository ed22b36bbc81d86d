import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, toRecords } from '../../state/table.ts';

/** Minimum number of pairs of weeks of a correlation, as in the query. */
const WEEKS_LEAST = 12;
const LAGS = ['in the same week', '1 week later', '2 weeks later', '3 weeks later'];
const COLUMNS: readonly GivenColumn[] = [
  { name: 'lag_weeks', label: 'Visits come', unit: 'text', value: (row) => LAGS[Number(row['lag_weeks'])] ?? null },
  { name: 'correlation', unit: 'position', n: 'weeks' },
  {
    name: 'is_clear',
    label: 'Verdict',
    value: ({ is_clear: isClear }) =>
      isClear === null ? 'not tested' : isClear === true ? 'differs from 0' : 'within chance',
  },
  { name: 'weeks', label: 'n' },
];

/** Correlation of weekly visibility and visits of all stored weeks, with its interval. */
export function TrafficCorrelation(): JSX.Element {
  const { brand, format } = useScope();
  const data = useQuery('traffic_correlation', brand && { brand: brand.id });
  const rows = useMemo(() => {
    const all = toRecords(data.table);
    return all.some(({ correlation }) => correlation !== null) ? all : [];
  }, [data.table]);
  const weeks = Math.max(0, ...toRecords(data.table).map((row) => numberOf(row['weeks']) ?? 0));
  return (
    <TableBlock
      title="Correlation of visibility and visits"
      about="A correlation is not a cause: both may follow a season, a campaign or news. Over all stored complete weeks, independent of the filters. With four lags tested, one of them differs from 0 by chance more often than in a single test."
      data={data}
      rows={rows}
      columns={COLUMNS}
      empty={
        weeks === 0
          ? 'There are no two complete weeks with responses and visits.'
          : `Too few weeks: a correlation needs at least ${WEEKS_LEAST} complete weeks with responses and visits, and there are ${format.value(weeks, 'count')}.`
      }
    />
  );
}
