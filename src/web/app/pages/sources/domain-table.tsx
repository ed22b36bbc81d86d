import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { domainColumn, knownOwner, ownerColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { changeColumn, measuredColumn } from '../../components/measured.tsx';
import { useMetrics, useUpstreamNote } from '../../state/data.tsx';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { statisticOf } from '../../state/series.ts';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** Maximum number of domains that are shown; the SQL returns all. */
const DOMAINS_MAX = 2_000;

/** Values of the choice of an owner. */
export const OWNERS = [
  { id: 'all', label: 'All owners' },
  { id: 'owned', label: 'Owned' },
  { id: 'competitor', label: 'Competitor' },
  { id: 'third party', label: 'Third party' },
  { id: 'unknown', label: 'Unknown' },
];

/** Citations by domain and engine. */
type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The cited domains with their owners, shares, changes and engines. */
export function DomainTable(): JSX.Element {
  const { params, filters } = useScope();
  const request = params && { ...params, order: '-citations,domain', limit: DOMAINS_MAX };
  const data = useMetrics(
    request && { ...request, metrics: 'citations,citation_share,citing_responses', group_by: 'domain,owner' },
  );
  const byEngine = useMetrics(
    params && { ...params, metrics: 'citations', group_by: 'domain,engine', compare_to: 'none' },
  );
  const [owner, setOwner] = useSearchParam(
    'owner',
    OWNERS.map(({ id }) => id),
  );
  const engineRows = useMemo(() => toRecords(byEngine.table), [byEngine.table]);
  const notes = useUpstreamNote('citations') + useUpstreamNote('citation_share');
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const hasOwners = owner !== 'all' || rows.some((row) => knownOwner(textOf(row['owner'])) !== '');
  const items = useMemo(() => rows.filter((row) => owner === 'all' || row['owner'] === owner), [rows, owner]);
  const counts = useMemo<Counts>(() => {
    const domains = new Map<string, Map<string, number>>();
    for (const row of engineRows) {
      const domain = textOf(row['domain']);
      const engines = domains.get(domain) ?? new Map<string, number>();
      engines.set(textOf(row['engine']), numberOf(row['citations']) ?? 0);
      domains.set(domain, engines);
    }
    return domains;
  }, [engineRows]);
  const slugs = useMemo(() => [...new Set(engineRows.map(({ engine }) => textOf(engine)))].sort(), [engineRows]);
  const columns = useColumns(slugs, counts);
  return (
    <Frame
      title="Cited domains"
      about={`Domains by citations; the columns of engines count citations. Shares are of all citations that name a domain; n is the responses that cite a page.${notes}`}
      data={data}
      empty="No response in this range cites a page."
    >
      {hasOwners && <Choice label="Owner" value={owner} options={OWNERS} onChoose={setOwner} />}
      <DataTable
        key={`${slugs.join()} ${filters.compareTo === 'none'}`}
        caption="Cited domains"
        items={items}
        columns={columns}
        keyOf={(row) => `${textOf(row['domain'])} ${textOf(row['owner'])}`}
        sort={{ id: 'citations', isDescending: true }}
        empty="No domain has this owner."
      />
    </Frame>
  );
}

function useColumns(slugs: readonly string[], counts: Counts): readonly ColumnSpec<Row>[] {
  const { linkTo, filters, engineLabel } = useScope();
  return useMemo(() => {
    const change = changeColumn<Row>({
      id: 'citation_share_change',
      label: 'Δ Share',
      about: 'Change of the share against the comparison range; corrected for the number of rows.',
      statistic: (row) => statisticOf(row, 'citation_share'),
      isGood: (row) => (row['owner'] === 'owned' ? true : null),
    });
    return [
      domainColumn(linkTo),
      ownerColumn(),
      { id: 'citations', label: 'Citations', unit: 'count', value: (row) => numberOf(row['citations']) },
      {
        id: 'citing_responses',
        label: 'Responses',
        about: 'Responses that cite the domain.',
        unit: 'count',
        value: (row) => numberOf(row['citing_responses']),
      },
      measuredColumn({
        id: 'citation_share',
        label: 'Share',
        about: 'Citations of the domain as a share of all citations that name a domain, with its 95 % interval.',
      }),
      ...(filters.compareTo === 'none' ? [] : [change]),
      ...slugs.map((slug): ColumnSpec<Row> => ({
        id: `engine ${slug}`,
        label: engineLabel(slug),
        about: 'Citations by this engine.',
        unit: 'count',
        value: (row) => counts.get(textOf(row['domain']))?.get(slug) ?? 0,
      })),
    ];
  }, [linkTo, filters.compareTo, engineLabel, slugs, counts]);
}
