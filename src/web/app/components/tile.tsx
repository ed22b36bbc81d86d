import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SeriesPoint } from '../charts/drawing.ts';
import { drawSparkline } from '../charts/time-series.ts';
import type { Unit } from '../state/format.ts';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import type { Statistic } from '../state/series.ts';
import type { Table } from '../state/table.ts';
import { BlockMenu } from './block-menu.tsx';
import { Chart } from './chart.tsx';
import { Explained, Mark } from './measured.tsx';

export interface TileProps extends Partial<Statistic> {
  readonly title: string;
  readonly about?: string;
  readonly unit: Unit;
  readonly isHigherBetter?: boolean | null;
  /** The value over time. */
  readonly points?: readonly SeriesPoint[];
  readonly to?: string;
  readonly table: Table | null;
  /** Whether the number is being requested; a tile without a number then shows none. */
  readonly isLoading?: boolean;
}

/** One number with its change and its history; its statistics open on it. */
export function Tile(props: TileProps): JSX.Element {
  const { title, about, unit, isHigherBetter = null, points, to, table, isLoading = false, ...statistic } = props;
  const { value = null, change, before = null } = statistic;
  const { format } = useScope();
  const isCount = unit === 'count' || unit === 'money';
  return (
    <section class="tile" aria-label={title} aria-busy={isLoading}>
      <header class="panel-head">
        <h2>{to === undefined ? title : <Link to={to}>{title}</Link>}</h2>
        <BlockMenu title={title} about={about} tables={[table]} />
      </header>
      {isLoading && value === null ? (
        <div class="skeleton" role="status" aria-label="Loading" />
      ) : (
        <div class="tile-value" data-value={value ?? ''}>
          <Explained
            title={title}
            about={about}
            statistic={statistic}
            unit={unit}
            notCompared={table?.notCompared ?? null}
          >
            <span class="tile-number">{format.value(value, unit)}</span>{' '}
            {change !== undefined && change.change !== null && (
              <Mark
                change={change}
                unit={unit}
                isHigherBetter={isHigherBetter}
                {...(isCount ? { countBefore: before } : {})}
              />
            )}
          </Explained>
        </div>
      )}
      {points !== undefined && (
        <Sparkline label={`${title} over time`} points={points} isReversed={isHigherBetter === false} />
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
