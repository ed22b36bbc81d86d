import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../charts/drawing.ts';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { ChartFrame, Frame } from '../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../components/data-table.tsx';
import { Mark } from '../components/measured.tsx';
import { EntityDot } from '../components/parts.tsx';
import { grainOf } from '../state/calendar-days.ts';
import { useMetrics, useUpstreamNote } from '../state/data.tsx';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { type Change, changeOf, pointOf } from '../state/series.ts';
import { numberOf, textOf, toRecords } from '../state/table.ts';

const NO_RIVALS = 'The brand has no tracked competitors, or no response in this range mentions one of them.';

/** Share of voice of the brand and its competitors over time. */
export function VoiceOverTime(): JSX.Element {
  const { params, range, linkTo, entityColour } = useScope();
  const grain = range === null ? 'day' : grainOf(range.from, range.to);
  const note = useUpstreamNote('share_of_voice');
  const data = useMetrics(
    params === null ? null : { ...params, metrics: 'share_of_voice', group_by: 'entity', grain, compare_to: 'none' },
  );
  const series = useMemo(() => {
    const rows = toRecords(data.table);
    const ids = [...new Set(rows.map((row) => idOf(row['competitor_id'])))];
    const found = ids.map((id) => {
      const own = rows.filter((row) => idOf(row['competitor_id']) === id);
      const colour = entityColour(id);
      return { label: textOf(own[0]?.['entity']), colour, points: own.map((row) => pointOf(row, 'share_of_voice')) };
    });
    // The brand is at the bottom, where its height can be read.
    return found.sort((a, b) => a.colour - b.colour);
  }, [data.table, entityColour]);
  const draw = useMemo(
    () => (context: ChartContext) =>
      drawStackedArea({ label: 'Share of voice over time', unit: 'ratio', series }, context),
    [series],
  );
  return (
    <ChartFrame
      title="Share of voice over time"
      about={`Mentions of each as a share of all mentions of the brand and its tracked competitors.${note}`}
      data={data}
      to={linkTo('/competitors')}
      draw={draw}
      legend={series}
      height={260}
      empty={NO_RIVALS}
    />
  );
}

interface Entity {
  readonly id: string | null;
  readonly name: string;
  readonly share: number | null;
  readonly change: Change;
  readonly visibility: number | null;
  readonly position: number | null;
}

/** The brand and its competitors in this range. */
export function VoiceTable(): JSX.Element {
  const { params, linkTo, entityColour } = useScope();
  const metrics = 'share_of_voice,visibility,position';
  const data = useMetrics(params === null ? null : { ...params, metrics, group_by: 'entity' });
  const items = useMemo<readonly Entity[]>(
    () =>
      toRecords(data.table).map((row) => ({
        id: idOf(row['competitor_id']),
        name: textOf(row['entity']),
        share: numberOf(row['share_of_voice']),
        change: changeOf(row, 'share_of_voice'),
        visibility: numberOf(row['visibility']),
        position: numberOf(row['position']),
      })),
    [data.table],
  );
  const columns = useMemo<readonly ColumnSpec<Entity>[]>(
    () => [
      {
        id: 'name',
        label: 'Name',
        value: ({ name }) => name,
        cell: ({ id, name }) => (
          <>
            <EntityDot colour={entityColour(id)} />
            <Link to={linkTo('/competitors', { competitor: id })} dir="auto">
              {name}
            </Link>
          </>
        ),
      },
      { id: 'share_of_voice', label: 'Share', unit: 'ratio', value: ({ share }) => share },
      {
        id: 'change',
        label: 'Change',
        unit: 'ratio',
        value: ({ change }) => change.change,
        cell: ({ id, change }) => <Mark change={change} unit="ratio" isHigherBetter={id === null ? true : null} />,
      },
      { id: 'visibility', label: 'Visibility', unit: 'ratio', value: ({ visibility }) => visibility },
      { id: 'position', label: 'Position', unit: 'position', value: ({ position }) => position },
    ],
    [linkTo, entityColour],
  );
  return (
    <Frame
      title="Brand and competitors"
      about="Changes are against the comparison range; ≈ marks a change that chance may explain."
      data={data}
      to={linkTo('/competitors')}
      empty={NO_RIVALS}
    >
      <DataTable
        caption="Brand and competitors"
        items={items}
        columns={columns}
        keyOf={({ id }) => id ?? 'brand'}
        sort={{ id: 'share_of_voice', isDescending: true }}
        isPlain
      />
    </Frame>
  );
}

function idOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
