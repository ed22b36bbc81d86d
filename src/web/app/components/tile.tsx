import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawSparkline } from '../charts/sparkline.ts';
import type { SeriesPoint } from '../charts/time-series.ts';
import type { Unit } from '../state/format.ts';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { Chart } from './chart.tsx';
import { Delta, type DeltaProps } from './parts.tsx';
import { SqlButton } from './sql-button.tsx';

export interface TileProps {
  readonly title: string;
  /** Definition of the number, shown on hover. */
  readonly about?: string;
  readonly value: number | null;
  readonly lower?: number | null;
  readonly upper?: number | null;
  /** Number of units in the sample. */
  readonly n?: number | null;
  readonly unit: Unit;
  /** Without it the tile has no comparison. */
  readonly delta?: Omit<DeltaProps, 'unit'>;
  /** The value over time. */
  readonly points?: readonly SeriesPoint[];
  readonly isReversed?: boolean;
  readonly to?: string;
  readonly sql?: string | null;
  /** Whether the number is being requested; a tile without a number then shows none. */
  readonly isLoading?: boolean;
}

/** One number with its change, its interval and its history. */
export function Tile(props: TileProps): JSX.Element {
  const { title, about, value, lower, upper, n, unit, delta, points, to, sql = null, isLoading = false } = props;
  const { format } = useScope();
  const hasInterval = typeof lower === 'number' && typeof upper === 'number';
  return (
    <section class="tile" aria-label={title} aria-busy={isLoading}>
      <header class="panel-head">
        <h2 title={about}>{to === undefined ? title : <Link to={to}>{title}</Link>}</h2>
        <span class="panel-tools">
          <SqlButton title={title} sql={sql} />
        </span>
      </header>
      {isLoading && value === null ? (
        <div class="skeleton" role="status" aria-label="Loading" />
      ) : (
        <>
          <p class="tile-value" data-value={value ?? ''}>
            {format.value(value, unit)}
          </p>
          <p class="quiet">
            <span class="tile-range">
              {hasInterval ? `${format.value(lower, unit)} – ${format.value(upper, unit)}` : ' '}
            </span>
            {typeof n === 'number' && <span class="tile-n"> n = {format.value(n, 'count')}</span>}
          </p>
          <p>{delta !== undefined && <Delta {...delta} unit={unit} />}</p>
        </>
      )}
      {points !== undefined && (
        <Sparkline label={`${title} over time`} points={points} isReversed={props.isReversed === true} />
      )}
    </section>
  );
}

export interface SparklineProps {
  readonly label: string;
  readonly points: readonly SeriesPoint[];
  /** Index of the series colour; the default is the brand's. */
  readonly colour?: number;
  readonly isReversed?: boolean;
}

/** A small line without axes. */
export function Sparkline({ label, points, colour = 0, isReversed = false }: SparklineProps): JSX.Element {
  const draw = useMemo<Parameters<typeof Chart>[0]['draw']>(
    () => (context) => drawSparkline({ label, series: { points, colour }, isReversed }, context),
    [label, points, colour, isReversed],
  );
  return <Chart label={label} draw={draw} isStatic />;
}
