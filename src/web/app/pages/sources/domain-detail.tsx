import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { pointOf } from '../../state/series.ts';
import { textOf, toRecords } from '../../state/table.ts';
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
        <div class="pair">
          <History domain={domain} />
          <Engines domain={domain} />
        </div>
        <PageTable domain={domain} />
        <NewestResponses domain={domain} />
      </div>
    </>
  );
}

function History({ domain }: { readonly domain: string }): JSX.Element {
  const { params, grain } = useScope();
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
  return (
    <SeriesFrame
      title="Cited over time"
      about={`Share of the responses that cite the domain, per ${grain}, with its 95 % interval.`}
      data={data}
      unit="ratio"
      series={series}
    />
  );
}

const ENGINES: readonly GivenColumn[] = [
  {
    name: 'engine',
    value: ({ engine }, { engineLabel }) => (engine === null ? 'All engines' : engineLabel(textOf(engine))),
  },
  'citations',
  'responses',
  { name: 'share', n: 'responses_of_all' },
];
const RESPONSES: readonly GivenColumn[] = [
  {
    name: 'prompt',
    to: (row, { linkTo }) => linkTo(`/responses/${textOf(row['response_id'])}`),
    below: (row, { engineLabel }) => engineLabel(textOf(row['engine'])),
  },
  {
    name: 'brand_mentioned',
    label: 'Brand',
    value: (row) => (row['brand_mentioned'] === true ? 'mentioned' : 'not mentioned'),
  },
  'citations',
  { name: 'created_at', label: 'Time' },
];

function Engines({ domain }: { readonly domain: string }): JSX.Element {
  const { params } = useScope();
  return (
    <TableBlock
      title="By engine"
      about="Citations and citing responses of the range by engine."
      data={useQuery('domain_history', params && { ...params, domain, grain: 'range' })}
      columns={ENGINES}
    />
  );
}

function NewestResponses({ domain }: { readonly domain: string }): JSX.Element {
  const { params, linkTo } = useScope();
  return (
    <TableBlock
      title="Newest responses that cite it"
      about="At most 20; the link lists all."
      data={useQuery('domain_responses', params && { ...params, domain })}
      to={linkTo('/responses', {}, { search: domain })}
      linkLabel="All responses"
      empty="No response in this range cites the domain."
      columns={RESPONSES}
    />
  );
}
