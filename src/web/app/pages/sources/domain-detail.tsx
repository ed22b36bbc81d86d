import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { DeclaredTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { OwnerMark } from '../../components/owner-mark.tsx';
import { PageHead } from '../../components/parts.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { knownOwner } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { pointOf } from '../../state/series.ts';
import { textOf, toRecords } from '../../state/table.ts';
import { PageTable } from './page-table.tsx';
import { CITING_RESPONSES, DOMAIN_ENGINES } from './source-tables.ts';

/** One domain: its history, its engines, its pages, and the responses that cite it. */
export function DomainDetail({ domain }: { readonly domain: string }): JSX.Element {
  const { linkTo, params } = useScope();
  const [page] = toRecords(useQuery('cited_pages', params && { ...params, domain, limit: 1 }).table);
  return (
    <>
      <PageHead
        title={<span class="clamped">{domain}</span>}
        about={
          <span class="links">
            <Link to={linkTo('/sources')}>All sources</Link>
            <Link to={linkTo('/responses', {}, { search: domain })}>Responses that cite it</Link>
            <OwnerMark domain={domain} owner={knownOwner(textOf(page?.['owner']))} />
          </span>
        }
      >
        <FilterBar without={['comparison']} />
      </PageHead>
      <div class="grid">
        <div class="pair">
          <History domain={domain} />
          <DeclaredTable {...DOMAIN_ENGINES} request={{ domain, grain: 'range' }} />
        </div>
        <PageTable domain={domain} />
        <DeclaredTable
          {...CITING_RESPONSES}
          request={{ domain }}
          page={({ linkTo: to }) => to('/responses', {}, { search: domain })}
        />
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
