import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import { type GivenColumn, knownOwner } from '../../components/table-columns.tsx';
import { useMetrics, useUpstreamNote } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

const SHOWN_MAX = 10;
const CITED: readonly GivenColumn[] = ['domain', 'owner', 'citations', 'citation_share'];

/** The most cited domains, and the share of citations by owner. */
export function TopDomains(): JSX.Element {
  const { params, linkTo, format } = useScope();
  const asked = params && { ...params, compare_to: 'none' };
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
