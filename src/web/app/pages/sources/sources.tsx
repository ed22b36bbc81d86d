import type { JSX } from 'preact';
import { DeclaredTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ViewTabs } from '../../components/tabs.tsx';
import { useRoute, useSearchParam } from '../../state/router.tsx';
import { DomainDetail } from './domain-detail.tsx';
import { DomainTable } from './domain-table.tsx';
import { OwnerShare } from './owner-share.tsx';
import { PageTable } from './page-table.tsx';
import { GAPS, OWN_PAGES } from './source-tables.ts';

const VIEWS = [
  { id: 'domains', label: 'Domains' },
  { id: 'pages', label: 'Pages' },
  { id: 'gaps', label: 'Gaps' },
] as const;

/** The domains and pages that responses cite. */
export default function Sources(): JSX.Element {
  const [view] = useSearchParam('view', VIEWS);
  const domain = useRoute().search.get('domain');
  if (domain !== null && domain !== '') return <DomainDetail domain={domain} />;
  return (
    <>
      <PageHead title="Sources" filters={{}} />
      <ViewTabs label="Views of the sources" path="/sources" views={VIEWS} current={view} />
      {view === 'domains' && (
        <div class="grid">
          <OwnerShare />
          <DomainTable />
        </div>
      )}
      {view === 'pages' && (
        <div class="grid">
          <PageTable />
          <DeclaredTable {...OWN_PAGES} />
        </div>
      )}
      {view === 'gaps' && <DeclaredTable {...GAPS} />}
    </>
  );
}
