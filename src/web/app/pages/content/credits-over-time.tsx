import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

/** Balance of the workspace's writing credits, as syncs recorded it. */
export function CreditsOverTime(): JSX.Element {
  const { format } = useScope();
  const data = useQuery('credits_balance', {});
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const series = useMemo(() => {
    // The last balance of each day.
    const days = new Map(rows.map((row) => [textOf(row['observed_at']).slice(0, 10), numberOf(row['balance'])]));
    return [{ label: 'Credits', colour: 0, points: [...days].map(([day, value]) => ({ day, value })) }];
  }, [rows]);
  const last = rows.at(-1);
  return (
    <SeriesFrame
      title="Writing credits"
      about="Credits left in the whole workspace at the last sync of each day. Filters do not apply."
      data={data}
      unit="count"
      series={series}
      height={180}
      empty="No balance was recorded, or the key does not open all brands of the workspace."
      note={
        last && `${format.value(last['balance'], 'count')} credits left on ${format.time(textOf(last['observed_at']))}.`
      }
    />
  );
}
