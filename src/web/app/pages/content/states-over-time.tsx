import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import { drawStackedBars } from '../../charts/stacked-bars.ts';
import { ChartFrame } from '../../components/chart-frame.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

const NAMES = { articles: 'Articles', actions: 'Proposed actions', forum: 'Forum threads' } as const;

/** Number of items in each state at the end of each day. */
export function StatesOverTime({ list }: { readonly list: keyof typeof NAMES }): JSX.Element {
  const { params } = useScope();
  const data = useQuery('content_states', params && { ...params, list });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const series = useMemo(() => {
    const states = [...new Set(rows.map(({ status }) => textOf(status)))].sort();
    return states.map((status, index) => ({
      label: status || 'unknown',
      colour: index + 1,
      points: rows
        .filter((row) => textOf(row['status']) === status)
        .map((row) => ({ day: textOf(row['day']), value: numberOf(row['items']) })),
    }));
  }, [rows]);
  const title = `${NAMES[list]} by state`;
  const draw = useMemo(
    () => (context: ChartContext) => drawStackedBars({ label: `${title} over time`, unit: 'count', series }, context),
    [title, series],
  );
  const since = textOf(rows[0]?.['recorded_since']) || null;
  return (
    <ChartFrame
      title={title}
      about="Number in each state at the end of each day (UTC), and at the last sync."
      data={data}
      draw={draw}
      legend={series}
      height={240}
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
