import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { knownOwner, ownerColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { useMetrics, useQuery, useUpstreamNote } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

interface Domain {
  readonly domain: string;
  readonly owner: string;
  readonly count: number | null;
  readonly share: number | null;
}

const SHOWN_MAX = 10;

/** The most cited domains, and the share of citations by owner. */
export function TopDomains(): JSX.Element {
  const { params, linkTo, format } = useScope();
  const asked = params === null ? null : { ...params, compare_to: 'none' };
  const data = useMetrics(
    asked && {
      ...asked,
      metrics: 'citations,citation_share',
      group_by: 'domain,owner',
      order: '-citations,domain',
      limit: SHOWN_MAX,
    },
  );
  const owners = useMetrics(
    asked && { ...asked, metrics: 'citation_share', group_by: 'owner', order: '-citation_share' },
  );
  const items = useMemo(() => domainsOf(data.table, 'citations', 'citation_share'), [data.table]);
  const note = useUpstreamNote('citation_share');
  const columns = useColumns('Citations', 'Share', `Citations of the domain as a share of all citations.${note}`);
  return (
    <Frame
      title="Most cited domains"
      about={
        <>
          Domains that the responses cite.{' '}
          {toRecords(owners.table)
            .filter((row) => knownOwner(textOf(row['owner'])) !== '')
            .map((row) => `${textOf(row['owner'])} ${format.value(numberOf(row['citation_share']), 'ratio')}`)
            .join(', ')}
          {note === '' ? '' : `.${note}`}
        </>
      }
      data={data}
      to={linkTo('/sources')}
      empty="No response in this range cites a page."
    >
      <DataTable caption="Most cited domains" items={items} columns={columns} keyOf={keyOf} isPlain />
    </Frame>
  );
}

/** Domains that are cited for competitors and never for the brand. */
export function GapDomains(): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useQuery('gap_domains', params === null ? null : { ...params, limit: SHOWN_MAX });
  const items = useMemo(() => domainsOf(data.table, 'responses', 'share'), [data.table]);
  const columns = useColumns(
    'Responses',
    'Share',
    'Share of the responses that mention a tracked competitor and not the brand.',
  );
  return (
    <Frame
      title="Gaps"
      about="Domains cited by responses that mention a competitor, and by no response that mentions the brand."
      data={data}
      to={linkTo('/sources', {}, { view: 'gaps' })}
      empty="No domain is cited for competitors only."
    >
      <DataTable caption="Gaps" items={items} columns={columns} keyOf={keyOf} isPlain />
    </Frame>
  );
}

const keyOf = ({ domain, owner }: Domain): string => `${domain} ${owner}`;

function domainsOf(table: Parameters<typeof toRecords>[0], count: string, share: string): readonly Domain[] {
  return toRecords(table).map((row: Row) => ({
    domain: textOf(row['domain']),
    owner: textOf(row['owner']),
    count: numberOf(row[count]),
    share: numberOf(row[share]),
  }));
}

function useColumns(count: string, share: string, about: string): readonly ColumnSpec<Domain>[] {
  const { linkTo } = useScope();
  return useMemo(
    () => [
      {
        id: 'domain',
        label: 'Domain',
        value: ({ domain }) => domain,
        cell: ({ domain }) => <Link to={linkTo('/sources', {}, { domain })}>{domain}</Link>,
      },
      ownerColumn(),
      { id: 'count', label: count, unit: 'count', value: (domain) => domain.count },
      { id: 'share', label: share, about, unit: 'ratio', value: (domain) => domain.share },
    ],
    [linkTo, count, share, about],
  );
}
