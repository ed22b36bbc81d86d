import type { JSX } from 'preact';
import { DeclaredTable } from '../../components/data-table.tsx';
import { DomainShare } from '../../components/domain-share.tsx';
import { OwnerMark } from '../../components/owner-mark.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { knownOwner } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { PageTable } from './page-table.tsx';
import { CITING_RESPONSES, DOMAIN_ENGINES } from './source-tables.ts';

/** One domain: its history, its engines, its pages, and the responses that cite it. */
export function DomainDetail({ domain }: { readonly domain: string }): JSX.Element {
  const { linkTo, brand } = useScope();
  // The owner does not depend on the filters.
  const ever = brand && { brand: brand.id, from: brand.firstDay, to: brand.lastDay, compare_to: 'none' };
  const [page] = toRecords(useQuery('cited_pages', ever && { ...ever, domain, limit: 1 }).table);
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
        filters={{ without: ['comparison'] }}
      />
      <div class="grid">
        <div class="pair">
          <DomainShare title="Cited over time" domain={domain} />
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
