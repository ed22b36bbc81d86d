import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { domainColumn, ownerColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** Maximum number of domains that are shown. */
const GAPS_MAX = 500;

/** All domains that are cited for competitors and never for the brand. */
export function GapTable(): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useQuery('gap_domains', params && { ...params, limit: GAPS_MAX });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      domainColumn(linkTo),
      ownerColumn(),
      {
        id: 'responses',
        label: 'Responses',
        about:
          'Responses that cite the domain, mention a competitor and do not mention the brand. The link lists them.',
        unit: 'count',
        value: (row) => numberOf(row['responses']),
        cell: (row) => <GapResponses row={row} />,
      },
      measuredColumn({
        id: 'share',
        label: 'Share',
        about: 'Share of the responses that mention a tracked competitor and not the brand (n).',
        n: 'responses_of_all',
      }),
    ],
    [linkTo],
  );
  return (
    <Frame
      title="Gaps"
      about="Domains cited by responses that mention a competitor, and by no response of the range that mentions the brand."
      data={data}
      empty="No domain is cited for competitors only. Shorter ranges and more filters show more gaps, because one response with the brand removes a domain from the list."
    >
      <DataTable
        caption="Gaps"
        items={items}
        columns={columns}
        keyOf={(row) => `${textOf(row['domain'])} ${textOf(row['owner'])}`}
        sort={{ id: 'responses', isDescending: true }}
      />
    </Frame>
  );
}

function GapResponses({ row }: { readonly row: Row }): JSX.Element {
  const { linkTo, format } = useScope();
  const count = format.value(numberOf(row['responses']), 'count');
  return (
    <Link
      to={linkTo('/responses', {}, { search: textOf(row['domain']), mentioned: 'false' })}
      aria-label={`${count} responses that cite ${textOf(row['domain'])}`}
    >
      {count}
    </Link>
  );
}
