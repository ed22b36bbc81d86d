import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useQuery } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { pointOf } from '../state/series.ts';
import { toRecords } from '../state/table.ts';
import { SeriesFrame, type SeriesFrameProps } from './series-frame.tsx';

interface DomainShareProps extends Pick<SeriesFrameProps, 'title' | 'events' | 'to' | 'linkLabel'> {
  readonly domain: string;
}

/** The share of responses that cite a domain over time. */
export function DomainShare({ domain, ...frame }: DomainShareProps): JSX.Element {
  const { params, grain } = useScope();
  const data = useQuery('domain_history', params && { ...params, domain, grain });
  const series = useMemo(() => {
    const rows = toRecords(data.table).filter(({ engine }) => engine === null);
    const points = rows.map((row) => pointOf(row, 'share', { n: 'responses_of_all' }));
    return [{ label: domain, colour: 0, points }];
  }, [data.table, domain]);
  return (
    <SeriesFrame
      {...frame}
      about={`Share of the responses that cite the domain, per ${grain}, with its 95 % interval.`}
      data={data}
      unit="ratio"
      series={series}
      empty="No responses are stored for these days."
    />
  );
}
