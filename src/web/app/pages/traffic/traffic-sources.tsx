import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawStackedBars } from '../../charts/stacked-bars.ts';
import { TableBlock } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { Mark } from '../../components/measured.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { type LoadedTable, useQuery } from '../../state/data.tsx';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { seriesBy } from '../../state/series.ts';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

const MEASURES = [
  { id: 'sessions', label: 'AI sessions' },
  { id: 'engaged_sessions', label: 'Engaged sessions' },
  { id: 'new_users', label: 'New users' },
  { id: 'key_events', label: 'Key events' },
  { id: 'revenue', label: 'Revenue' },
] as const;

/** The sources that the API names, in the order of their colours. */
const SOURCES = ['assistant-a', 'assistant-b', 'assistant-c', 'assistant-d', 'assistant-e', 'other-ai'];

function colourOf(source: string): number {
  const place = SOURCES.indexOf(source);
  return 1 + (place === -1 ? SOURCES.length : place);
}

/** A measure of visits by source over time. */
export function SourcesOverTime(): JSX.Element {
  const { params, grain } = useScope();
  const [measure, choose] = useSearchParam('measure', MEASURES);
  const data = useQuery('traffic_days', params && { ...params, grain });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const currencies = [...new Set(rows.map(({ currency }) => textOf(currency)))];
  const isMoney = measure === 'revenue';
  const shown = useMemo(
    () => (isMoney ? rows.filter((row) => textOf(row['currency']) === textOf(rows[0]?.['currency'])) : rows),
    [rows, isMoney],
  );
  const series = useMemo(
    () =>
      seriesBy(shown, 'source', {
        labelOf: ({ source }) => textOf(source),
        colourOf,
        pointOf: (row) => ({ day: textOf(row['period']), value: numberOf(row[measure]) }),
      }),
    [shown, measure],
  );
  const label = `${MEASURES.find(({ id }) => id === measure)?.label}${isMoney && currencies[0] ? `, ${currencies[0]}` : ''}`;
  return (
    <SeriesFrame
      drawAs={drawStackedBars}
      height={240}
      tools={<Choice label="Shown measure" value={measure} options={MEASURES} onChoose={choose} />}
      title={`${label} by source`}
      about={`Per ${grain}, in days of the property's time zone.`}
      data={data}
      unit={isMoney ? 'money' : 'count'}
      series={series}
      empty="No visits from AI assistants in this range."
      note={
        isMoney && currencies.length > 1
          ? `The currency changed. Only ${currencies[0]} is drawn; the table has all.`
          : undefined
      }
    />
  );
}

const changeOf = (row: Row): number | null => {
  const before = numberOf(row['sessions_before']);
  return before === null ? null : (numberOf(row['sessions']) ?? 0) - before;
};

const COLUMNS: readonly GivenColumn[] = [
  { name: 'source', dot: ({ source }) => colourOf(textOf(source)) },
  'sessions',
  {
    name: 'change',
    about: 'Change of sessions against the comparison range. Counts of visits are not tested.',
    unit: 'count',
    value: changeOf,
    cell: (row) => (
      <Mark
        change={{ change: changeOf(row), isSignificant: null }}
        unit="count"
        isHigherBetter={null}
        countBefore={numberOf(row['sessions_before'])}
      />
    ),
  },
  { name: 'engaged_sessions', label: 'Engaged' },
  'key_events',
  { name: 'revenue', unit: 'money', below: ({ currency }) => textOf(currency) || null },
];
const HIDDEN = ['new_users', 'currency'];

/** Visits by source in this range, compared. */
export function SourceTable({ sources }: { readonly sources: LoadedTable }): JSX.Element {
  return (
    <TableBlock
      title="Sources"
      about="Visits by the assistant that referred them. Counts are complete, so they have no interval."
      data={sources}
      empty="No visits from AI assistants in this range."
      columns={COLUMNS}
      hidden={HIDDEN}
      sort="-sessions"
    />
  );
}
