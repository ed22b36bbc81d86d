import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawStackedBars } from '../../charts/stacked-bars.ts';
import { Timestamp } from '../../components/parts.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { seriesBy } from '../../state/series.ts';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

const NAMES = { articles: 'Articles', actions: 'Proposed actions', forum: 'Forum threads' } as const;

/** Number of items in each state at the end of each day. */
export function StatesOverTime({ list }: { readonly list: keyof typeof NAMES }): JSX.Element {
  const { params } = useScope();
  const data = useQuery('content_states', params && { ...params, list });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const series = useMemo(
    () =>
      seriesBy(rows, 'status', {
        labelOf: ({ status }) => textOf(status) || 'unknown',
        colourOf: (_status, index) => index + 1,
        pointOf: ({ day, items }) => ({ day: textOf(day), value: numberOf(items) }),
      }),
    [rows],
  );
  const since = textOf(rows[0]?.['recorded_since']) || null;
  return (
    <SeriesFrame
      drawAs={drawStackedBars}
      height={240}
      title={`${NAMES[list]} by state`}
      about="Number in each state at the end of each day (UTC), and at the last sync."
      data={data}
      unit="count"
      series={series}
      empty="No state was recorded in this range. States are recorded from the first sync on."
      note={
        since !== null && (
          <>
            sightline has recorded these states since <Timestamp time={since} />; earlier ones are unknown.
          </>
        )
      }
    />
  );
}
