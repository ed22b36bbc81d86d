import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import { drawTimeSeries } from '../../charts/time-series.ts';
import { ChartFrame, Frame } from '../../components/chart-frame.tsx';
import { promptColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { EntityDot, PageHead, Timestamp } from '../../components/parts.tsx';
import { grainOf } from '../../state/calendar-days.ts';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { pointOf } from '../../state/series.ts';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import { PageTable } from './page-table.tsx';

/** One domain: its history, its engines, its pages, and the responses that cite it. */
export function DomainDetail({ domain }: { readonly domain: string }): JSX.Element {
  const { linkTo } = useScope();
  return (
    <>
      <PageHead
        title={<span class="clamped">{domain}</span>}
        about={
          <span class="links">
            <Link to={linkTo('/sources')}>All sources</Link>
            <Link to={linkTo('/responses', {}, { search: domain })}>Responses that cite it</Link>
          </span>
        }
      >
        <FilterBar without={['comparison']} />
      </PageHead>
      <div class="grid">
        <History domain={domain} />
        <Engines domain={domain} />
        <div class="full">
          <PageTable domain={domain} />
        </div>
        <div class="full">
          <NewestResponses domain={domain} />
        </div>
      </div>
    </>
  );
}

function History({ domain }: { readonly domain: string }): JSX.Element {
  const { params, range } = useScope();
  const grain = range === null ? 'day' : grainOf(range.from, range.to);
  const data = useQuery('domain_history', params && { ...params, domain, grain });
  const series = useMemo(
    () => [
      {
        label: 'All engines',
        colour: 0,
        points: toRecords(data.table)
          .filter(({ engine }) => engine === null)
          .map((row) => pointOf(row, 'share', { n: 'responses_of_all' })),
      },
    ],
    [data.table],
  );
  const draw = useMemo(
    () => (context: ChartContext) =>
      drawTimeSeries({ label: 'Cited over time', unit: 'ratio', series, hasZero: true }, context),
    [series],
  );
  return (
    <ChartFrame
      title="Cited over time"
      about={`Share of the responses that cite the domain, per ${grain}, with its 95 % interval.`}
      data={data}
      draw={draw}
    />
  );
}

function Engines({ domain }: { readonly domain: string }): JSX.Element {
  const { params, engineLabel, engineColour } = useScope();
  const data = useQuery('domain_history', params && { ...params, domain, grain: 'range' });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      {
        id: 'engine',
        label: 'Engine',
        value: (row) => textOf(row['engine']),
        cell: ({ engine }) =>
          engine === null ? (
            <strong>All engines</strong>
          ) : (
            <>
              <EntityDot colour={engineColour(textOf(engine))} />
              {engineLabel(textOf(engine))}
            </>
          ),
      },
      { id: 'citations', label: 'Citations', unit: 'count', value: (row) => numberOf(row['citations']) },
      { id: 'responses', label: 'Responses', unit: 'count', value: (row) => numberOf(row['responses']) },
      measuredColumn({
        id: 'share',
        label: 'Share',
        about: 'Share of the responses of the engine (n) that cite the domain.',
        n: 'responses_of_all',
      }),
    ],
    [engineLabel, engineColour],
  );
  return (
    <Frame title="By engine" about="Citations and citing responses of the range by engine." data={data}>
      <DataTable
        caption="By engine"
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row['engine']) || 'all'}
        isPlain
      />
    </Frame>
  );
}

function NewestResponses({ domain }: { readonly domain: string }): JSX.Element {
  const { params, linkTo, engineLabel } = useScope();
  const data = useQuery('domain_responses', params && { ...params, domain });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      {
        id: 'created_at',
        label: 'Time',
        unit: 'time',
        value: (row) => textOf(row['created_at']),
        cell: (row) => (
          <Link to={linkTo(`/responses/${textOf(row['response_id'])}`)}>
            <Timestamp time={textOf(row['created_at'])} />
          </Link>
        ),
      },
      { id: 'engine', label: 'Engine', value: (row) => engineLabel(textOf(row['engine'])) },
      promptColumn(linkTo),
      {
        id: 'brand_mentioned',
        label: 'Brand',
        value: (row) => (row['brand_mentioned'] === true ? 'mentioned' : 'not mentioned'),
      },
      { id: 'citations', label: 'Citations', unit: 'count', value: (row) => numberOf(row['citations']) },
    ],
    [linkTo, engineLabel],
  );
  return (
    <Frame
      title="Newest responses that cite it"
      about="At most 20; the link lists all."
      data={data}
      to={linkTo('/responses', {}, { search: domain })}
      linkLabel="All responses"
      empty="No response in this range cites the domain."
    >
      <DataTable
        caption="Newest responses that cite it"
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row['response_id'])}
        isPlain
      />
    </Frame>
  );
}
