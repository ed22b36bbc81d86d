import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { Explained, Mark } from '../../components/measured.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Statistic, statisticOf } from '../../state/series.ts';
import { groupedBy, numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** Rows of the table: the brand and the most visible competitors. */
const SHOWN_MAX = 5;

interface Standing {
  readonly id: string | null;
  readonly name: string;
  readonly mean: number;
  readonly engines: ReadonlyMap<string, Statistic>;
}

/** Visibility of the brand and its most visible competitors on each engine; green leads. */
export function EngineHeat(): JSX.Element {
  const { params, linkTo, engineLabel, entityColour } = useScope();
  const data = useMetrics(params === null ? null : { ...params, metrics: 'visibility', group_by: 'entity,engine' });
  const rows = useMemo(() => standingsOf(toRecords(data.table)), [data.table]);
  const engines = useMemo(() => [...new Set(rows.flatMap((row) => [...row.engines.keys()]))].sort(), [rows]);
  const shareOf = (row: Standing | undefined, engine: string): number => row?.engines.get(engine)?.value ?? 0;
  const leads = new Map(engines.map((engine) => [engine, Math.max(...rows.map((row) => shareOf(row, engine)))]));
  const most = Math.max(...leads.values());
  return (
    <Frame
      title="Where you stand on each engine"
      about="Visibility of the brand and of its most visible competitors by engine. Green leads an engine; ▲ and ▼ are changes beyond chance."
      data={data}
      to={linkTo('/competitors')}
    >
      <section class="table-box heat" tabIndex={0} aria-label="Visibility by engine">
        <table>
          <thead>
            <tr>
              <th scope="col">Brand</th>
              {engines.map((engine) => (
                <th key={engine} scope="col">
                  {engineLabel(engine)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN_MAX).map((row) => (
              <tr key={row.id ?? 'brand'}>
                <th scope="row">
                  <span class="named">
                    <EntityDot colour={entityColour(row.id)} />
                    <Link
                      to={linkTo('/competitors', { competitor: row.id })}
                      dir="auto"
                      class="clamped"
                      title={row.name}
                    >
                      {row.name}
                    </Link>
                  </span>
                </th>
                {engines.map((engine) => (
                  <HeatCell
                    key={engine}
                    title={`${row.name}, ${engineLabel(engine)}`}
                    statistic={row.engines.get(engine)}
                    isLead={shareOf(row, engine) > 0 && shareOf(row, engine) === leads.get(engine)}
                    isOwn={row.id === null}
                    most={most}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Frame>
  );
}

// The brand first, then the competitors by their mean over the engines.
function standingsOf(rows: readonly Row[]): readonly Standing[] {
  const found = [...groupedBy(rows, 'competitor_id')].map(([id, own]) => ({
    id: id === '' ? null : id,
    name: textOf(own[0]?.['entity']),
    mean: own.reduce((sum, row) => sum + (numberOf(row['visibility']) ?? 0), 0) / own.length,
    engines: new Map(own.map((row) => [textOf(row['engine']), statisticOf(row, 'visibility')])),
  }));
  return found.sort((a, b) => Number(a.id !== null) - Number(b.id !== null) || b.mean - a.mean);
}

interface HeatCellProps {
  readonly title: string;
  readonly statistic: Statistic | undefined;
  readonly isLead: boolean;
  readonly isOwn: boolean;
  readonly most: number;
}

function HeatCell({ title, statistic, isLead, isOwn, most }: HeatCellProps): JSX.Element {
  const { format } = useScope();
  const value = statistic?.value ?? null;
  if (statistic === undefined || value === null) return <td>{format.value(null, 'ratio')}</td>;
  const depth = Math.round(6 + (most === 0 ? 0 : value / most) * 26);
  const background = `color-mix(in oklab, var(${isLead ? '--good' : '--series-0'}) ${depth}%, var(--surface))`;
  return (
    <td data-value={value}>
      <span class="heat-cell" style={{ background }}>
        <Explained title={title} statistic={statistic} unit="ratio">
          {format.value(value, 'ratio')}
          {statistic.change.isSignificant === true && (
            <Mark change={statistic.change} unit="ratio" isHigherBetter={isOwn ? true : null} isSignOnly />
          )}
        </Explained>
      </span>
    </td>
  );
}
