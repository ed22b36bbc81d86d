import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { ErrorState } from '../../components/parts.tsx';
import { Tile } from '../../components/tile.tsx';
import { useMetrics, useUpstreamNote } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { pointOf, statisticOf } from '../../state/series.ts';
import { MEASURES, type Measure } from '../../state/shown-measures.ts';
import { type Row, toRecords } from '../../state/table.ts';

/** Measures that are computed from the same facts are one request, so that tiles do not wait for slower facts. */
const REQUESTS: readonly (readonly string[])[] = [
  ['visibility', 'position', 'sentiment'],
  ['share_of_voice'],
  ['owned_citations'],
];

/** The five numbers of a brand, each with a link to its explanation. */
export function OverviewTiles(): JSX.Element {
  return (
    <div class="tiles">
      {MEASURES.map((measure) => (
        <MeasureTile key={measure.name} measure={measure} />
      ))}
    </div>
  );
}

// Tiles of one request share it.
function MeasureTile({ measure }: { readonly measure: Measure }): JSX.Element {
  const { name, title, about, unit, isHigherBetter } = measure;
  const { params, grain, linkTo } = useScope();
  const note = useUpstreamNote(name);
  const metrics = (REQUESTS.find((names) => names.includes(name)) ?? [name]).join(',');
  const totals = useMetrics(params && { ...params, metrics }, 'first');
  const history = useMetrics(params && { ...params, metrics, grain, compare_to: 'none' });
  const row: Row | null = useMemo(() => toRecords(totals.table)[0] ?? null, [totals.table]);
  const points = useMemo(() => toRecords(history.table).map((period) => pointOf(period, name)), [history.table, name]);
  if (totals.error !== null) {
    return (
      <section class="tile" aria-label={title}>
        <h2>{title}</h2>
        <ErrorState error={totals.error} retry={totals.retry} />
      </section>
    );
  }
  return (
    <Tile
      title={title}
      about={`${about}${note}`}
      unit={unit}
      {...statisticOf(row, name)}
      isHigherBetter={isHigherBetter}
      points={points}
      to={linkTo('/explain', {}, { view: name })}
      table={totals.table}
      isLoading={totals.isLoading || totals.table === null}
    />
  );
}
