import type { JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import { Chart } from '../../components/chart.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { addressWith, useRoute } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import type { Table } from '../../state/table.ts';
import {
  CHART_KINDS,
  type ChartKind,
  drawResult,
  fits,
  type ResultChart,
  ROWS_DRAWN,
  rolesOf,
  seriesOf,
  suggestChart,
} from './result-chart.ts';

const KIND_LABELS: Readonly<Record<ChartKind, string>> = { lines: 'Lines', bars: 'Bars', scatter: 'Points' };

const NO_CHART: ResultChart = { kind: 'bars', x: 0, y: 0, by: null };

const NEEDS: Readonly<Record<ChartKind, string>> = {
  lines: 'Lines need a time for the axis and a number for the values. Choose other columns.',
  bars: 'Bars need a number for the values. Choose another column.',
  scatter: 'Points need numbers for both axes. Choose other columns.',
};

/** A result as a chart: a suggested one, until the reader chooses another. */
export function ChartView({ table }: { readonly table: Table }): JSX.Element {
  const route = useRoute();
  const { format } = useScope();
  const roles = useMemo(() => rolesOf(table), [table]);
  const suggested = useMemo(() => suggestChart(table), [table]);
  const search = route.search.toString();
  const chart = useMemo(() => chosenChart(new URLSearchParams(search), suggested, table), [search, suggested, table]);
  const draw = useCallback((context: ChartContext) => drawResult(table, chart ?? NO_CHART, context), [table, chart]);
  if (suggested === null || chart === null) {
    return <p class="state">A chart needs rows with a number and a time, a text or a second number.</p>;
  }
  const choose = (changes: Partial<ResultChart>): void => {
    const next = { ...chart, ...changes };
    const { kind, x, y, by } = next;
    const address = { chart: kind, x: String(x), y: String(y), by: by === null ? 'none' : String(by) };
    route.navigate(addressWith(route, address), { replace: true });
  };
  const drawn = Math.min(table.rows.length, ROWS_DRAWN[chart.kind]);
  return (
    <>
      <ChartChoices table={table} chart={chart} roles={roles} choose={choose} />
      {fits(chart, roles) ? (
        <>
          {chart.kind === 'lines' && chart.by !== null && <LineLegend table={table} chart={chart} />}
          <Chart label={`${table.columns[chart.y]?.name} by ${table.columns[chart.x]?.name}`} draw={draw} />
        </>
      ) : (
        <p class="state">{NEEDS[chart.kind]}</p>
      )}
      <p class="quiet">
        {drawn < table.rows.length && `The first ${format.value(drawn, 'count')} rows are drawn. `}
        {hasRepeats(table, chart) && 'Several rows have the same time; the last one of each is drawn. '}
        The values are in the view “Table”.
      </p>
    </>
  );
}

// Whether rows of a line have the same time.
function hasRepeats(table: Table, chart: ResultChart): boolean {
  if (chart.kind !== 'lines') return false;
  const drawn = seriesOf(table, chart).reduce((sum, { points }) => sum + points.length, 0);
  return drawn < Math.min(table.rows.length, ROWS_DRAWN.lines);
}

function LineLegend({ table, chart }: { readonly table: Table; readonly chart: ResultChart }): JSX.Element {
  return (
    <ul class="legend">
      {seriesOf(table, chart).map(({ label, colour }) => (
        <li key={label}>
          <EntityDot colour={colour} />
          <span dir="auto">{label}</span>
        </li>
      ))}
    </ul>
  );
}

interface ChartChoicesProps {
  readonly table: Table;
  readonly chart: ResultChart;
  readonly roles: ReturnType<typeof rolesOf>;
  readonly choose: (changes: Partial<ResultChart>) => void;
}

function ChartChoices({ table, chart, roles, choose }: ChartChoicesProps): JSX.Element {
  const option = (index: number) => ({ id: String(index), label: table.columns[index]?.name ?? '' });
  const all = [...roles.keys()];
  const numbers = all.filter((index) => roles[index] === 'number');
  const axis =
    chart.kind === 'bars' ? all : all.filter((at) => roles[at] === (chart.kind === 'lines' ? 'time' : 'number'));
  const setKind = (kind: ChartKind): void => {
    const wanted = kind === 'lines' ? 'time' : kind === 'scatter' ? 'number' : 'category';
    const x =
      roles[chart.x] === wanted ? chart.x : (all.find((at) => roles[at] === wanted && at !== chart.y) ?? chart.x);
    choose({ kind, x });
  };
  return (
    <div class="row sql-chart-choices">
      <Choice
        label="Chart"
        value={chart.kind}
        options={CHART_KINDS.map((id) => ({ id, label: KIND_LABELS[id] }))}
        onChoose={(kind) => setKind((kind ?? chart.kind) as ChartKind)}
      />
      <Choice
        label={chart.kind === 'bars' ? 'Categories' : 'Horizontal'}
        value={String(chart.x)}
        options={axis.map(option)}
        onChoose={(x) => choose({ x: Number(x) })}
      />
      <Choice
        label="Values"
        value={String(chart.y)}
        options={numbers.map(option)}
        onChoose={(y) => choose({ y: Number(y) })}
      />
      {chart.kind !== 'bars' && (
        <Choice
          label={chart.kind === 'lines' ? 'One line for each' : 'Label'}
          all="(none)"
          value={chart.by === null ? '' : String(chart.by)}
          options={all.filter((index) => roles[index] === 'category').map(option)}
          onChoose={(by) => choose({ by: by === null ? null : Number(by) })}
        />
      )}
    </div>
  );
}

// The choices of the address, if they are columns of this result.
function chosenChart(search: URLSearchParams, suggested: ResultChart | null, table: Table): ResultChart | null {
  const kind = CHART_KINDS.find((known) => known === search.get('chart'));
  if (kind === undefined || suggested === null) return suggested;
  const column = (name: string): number | null => {
    const index = Number(search.get(name) ?? 'none');
    return Number.isInteger(index) && index >= 0 && index < table.columns.length ? index : null;
  };
  return { kind, x: column('x') ?? suggested.x, y: column('y') ?? suggested.y, by: column('by') };
}
