import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { OwnerMark } from '../../components/owner-mark.tsx';
import { type GivenColumn, knownOwner } from '../../components/table-columns.tsx';
import { useMetrics, useUpstreamNote } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { groupedBy, textOf, toRecords } from '../../state/table.ts';

/** Maximum number of domains that are shown; the SQL returns all. */
const DOMAINS_MAX = 2_000;
const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'domain',
    below: ({ domain, owner }) => <OwnerMark domain={textOf(domain)} owner={knownOwner(textOf(owner))} />,
  },
  'citations',
  { name: 'citing_responses', label: 'Responses', about: 'Responses that cite the domain.' },
  'citation_share',
  {
    name: 'citation_share_change',
    isGood: ({ owner }) => (owner === 'owned' ? true : null),
  },
];
const FACETS = ['owner'];

/** The cited domains with their owners, shares, changes and engines. */
export function DomainTable(): JSX.Element {
  const { params, engineLabel } = useScope();
  const request = params && { ...params, order: '-citations,domain', limit: DOMAINS_MAX };
  const data = useMetrics(
    request && { ...request, metrics: 'citations,citation_share,citing_responses', group_by: 'domain,owner' },
  );
  const byEngine = useMetrics(
    params && { ...params, metrics: 'citations', group_by: 'domain,engine', compare_to: 'none' },
  );
  const notes = useUpstreamNote('citations') + useUpstreamNote('citation_share');
  const engines = useMemo(() => groupedBy(toRecords(byEngine.table), 'domain'), [byEngine.table]);
  const rows = useMemo(() => {
    const counted = (domain: string) =>
      (engines.get(domain) ?? []).map((row) => [`engine ${textOf(row['engine'])}`, row['citations'] ?? null]);
    return toRecords(data.table).map((row) => ({ ...row, ...Object.fromEntries(counted(textOf(row['domain']))) }));
  }, [data.table, engines]);
  const hidden = useMemo<readonly GivenColumn[]>(() => {
    const slugs = [...new Set([...engines.values()].flat().map((row) => textOf(row['engine'])))].sort();
    const columns = slugs.map((slug) => ({ name: `engine ${slug}`, label: engineLabel(slug), unit: 'count' as const }));
    return ['owner', ...columns];
  }, [engines, engineLabel]);
  return (
    <TableBlock
      title="Cited domains"
      about={`Domains by citations; the columns of engines count citations. Shares are of all citations that name a domain; n is the responses that cite a page.${notes}`}
      data={data}
      empty="No response in this range cites a page."
      rows={rows}
      columns={COLUMNS}
      hidden={hidden}
      facets={FACETS}
      sort="-citations"
      isMain
    />
  );
}
