import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, toRecords } from '../../state/table.ts';

interface Lag {
  readonly lag: number;
  readonly weeks: number | null;
  readonly correlation: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  readonly isClear: boolean | null;
}

/** Minimum number of pairs of weeks of a correlation, as in the query. */
const WEEKS_LEAST = 12;

/** Correlation of weekly visibility and visits of all stored weeks, with its interval. */
export function TrafficCorrelation(): JSX.Element {
  const { brand, format } = useScope();
  const data = useQuery('traffic_correlation', brand === null ? null : { brand: brand.id });
  const items = useMemo<readonly Lag[]>(
    () =>
      toRecords(data.table).map((row) => ({
        lag: numberOf(row['lag_weeks']) ?? 0,
        weeks: numberOf(row['weeks']),
        correlation: numberOf(row['correlation']),
        lower: numberOf(row['correlation_lower']),
        upper: numberOf(row['correlation_upper']),
        isClear: typeof row['is_clear'] === 'boolean' ? row['is_clear'] : null,
      })),
    [data.table],
  );
  const columns = useMemo<readonly ColumnSpec<Lag>[]>(
    () => [
      {
        id: 'lag',
        label: 'Visits come',
        value: ({ lag }) => lag,
        cell: ({ lag }) => (lag === 0 ? 'in the same week' : lag === 1 ? '1 week later' : `${lag} weeks later`),
      },
      { id: 'correlation', label: 'Correlation', unit: 'score', value: ({ correlation }) => correlation },
      {
        id: 'interval',
        label: '95 % interval',
        value: ({ lower }) => lower,
        cell: ({ lower, upper }) =>
          lower === null || upper === null
            ? 'too few weeks'
            : `${format.value(lower, 'score')} to ${format.value(upper, 'score')}`,
      },
      { id: 'weeks', label: 'n', about: 'Pairs of weeks.', unit: 'count', value: ({ weeks }) => weeks },
      {
        id: 'verdict',
        label: 'Verdict',
        value: ({ isClear }) => (isClear === null ? 'not tested' : isClear ? 'differs from 0' : 'within chance'),
      },
    ],
    [format],
  );
  return (
    <div class="full">
      <Frame
        title="Correlation of visibility and visits"
        about="A correlation is not a cause: both may follow a season, a campaign or news. Over all stored complete weeks, independent of the filters. With four lags tested, one of them differs from 0 by chance more often than in a single test."
        data={data}
        empty="There are no two complete weeks with responses and visits."
      >
        {items.every(({ correlation }) => correlation === null) ? (
          <EmptyState>
            <p>
              Too few weeks: a correlation needs at least {WEEKS_LEAST} complete weeks with responses and visits, and
              there are {format.value(Math.max(0, ...items.map(({ weeks }) => weeks ?? 0)), 'count')}.
            </p>
          </EmptyState>
        ) : (
          <DataTable
            caption="Correlation of visibility and visits"
            items={items}
            columns={columns}
            keyOf={({ lag }) => String(lag)}
            isPlain
          />
        )}
      </Frame>
    </div>
  );
}
