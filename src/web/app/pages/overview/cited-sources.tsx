import type { JSX } from 'preact';
import { TableBlock, type TableSpec } from '../../components/data-table.tsx';
import { type GivenColumn, knownOwner } from '../../components/table-columns.tsx';
import { useMetrics, useUpstreamNote } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

const SHOWN_MAX = 10;
const CITED: readonly GivenColumn[] = ['domain', 'owner', 'citations', { name: 'citation_share', label: 'Share' }];

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
  const note = useUpstreamNote('citation_share');
  return (
    <TableBlock
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
      columns={CITED}
    />
  );
}

/** Domains that are cited for competitors and never for the brand. */
export const TOP_GAPS: TableSpec = {
  query: 'gap_domains',
  request: { limit: SHOWN_MAX, open: true },
  title: 'Gaps',
  about: 'Domains cited by responses that mention a competitor, and by no response that mentions the brand.',
  page: ({ linkTo }) => linkTo('/sources', {}, { view: 'gaps' }),
  empty: 'No domain is cited for competitors only.',
  columns: ['domain', 'owner', 'responses', { name: 'share', n: 'responses_of_all' }],
};
