import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

/** Maximum number of domains that are shown. */
const GAPS_MAX = 500;
const COLUMNS: readonly GivenColumn[] = [
  'domain',
  'owner',
  {
    name: 'responses',
    to: ({ domain }, { linkTo }) => linkTo('/responses', {}, { search: textOf(domain), mentioned: 'false' }),
  },
  {
    name: 'share',
    about: 'Share of the responses that mention a tracked competitor and not the brand (n).',
    n: 'responses_of_all',
  },
];
const FACETS = ['owner'];

/** All domains that are cited for competitors and never for the brand. */
export function GapTable(): JSX.Element {
  const { params } = useScope();
  return (
    <TableBlock
      title="Gaps"
      about="Domains cited by responses that mention a competitor, and by no response of the range that mentions the brand."
      data={useQuery('gap_domains', params && { ...params, limit: GAPS_MAX })}
      empty="No domain is cited for competitors only. Shorter ranges and more filters show more gaps, because one response with the brand removes a domain from the list."
      columns={COLUMNS}
      facets={FACETS}
      sort="-responses"
      isMain
    />
  );
}
