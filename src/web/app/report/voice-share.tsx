import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../charts/drawing.ts';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { ChartFrame } from '../components/chart-frame.tsx';
import { TableBlock } from '../components/data-table.tsx';
import type { GivenColumn } from '../components/table-columns.tsx';
import { grainOf } from '../state/calendar-days.ts';
import { useMetrics, useUpstreamNote } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { pointOf } from '../state/series.ts';
import { textOf, toRecords } from '../state/table.ts';

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

const COLUMNS: readonly GivenColumn[] = [
  'entity',
  { name: 'share_of_voice', label: 'Share' },
  { name: 'share_of_voice_change', label: 'Change' },
  'visibility',
  'position',
];

/** The brand and its competitors in this range. */
export function VoiceTable(): JSX.Element {
  const { params, linkTo } = useScope();
  const metrics = 'share_of_voice,visibility,position';
  return (
    <TableBlock
      title="Brand and competitors"
      about="Changes are against the comparison range; ≈ marks a change that chance may explain."
      data={useMetrics(params === null ? null : { ...params, metrics, group_by: 'entity' })}
      to={linkTo('/competitors')}
      empty={NO_RIVALS}
      columns={COLUMNS}
      sort="-share_of_voice"
    />
  );
}

function idOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
