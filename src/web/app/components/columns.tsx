import type { Filters } from '../state/filters.ts';
import { Link } from '../state/router.tsx';
import type { Scope } from '../state/scope.tsx';
import { type Row, textOf } from '../state/table.ts';
import type { ColumnSpec } from './data-table.tsx';
import { OwnerTag } from './parts.tsx';

type LinkTo = Scope['linkTo'];

/** Returns the column of a prompt, which links to its page with other filters. Rows have `prompt_id` and `prompt`. */
export function promptColumn(linkTo: LinkTo, changes: Partial<Filters> = {}): ColumnSpec<Row> {
  return {
    id: 'prompt',
    label: 'Prompt',
    isWide: true,
    value: (row) => textOf(row['prompt']),
    cell: (row) => (
      <Link
        to={linkTo(`/prompts/${textOf(row['prompt_id'])}`, changes)}
        dir="auto"
        class="clamped"
        title={textOf(row['prompt'])}
      >
        {textOf(row['prompt'])}
      </Link>
    ),
  };
}

/** Returns the column of a domain, which links to its page with other filters. Rows have `domain`. */
export function domainColumn(linkTo: LinkTo, changes: Partial<Filters> = {}): ColumnSpec<Row> {
  return {
    id: 'domain',
    label: 'Domain',
    value: (row) => textOf(row['domain']),
    cell: (row) => (
      <Link to={linkTo('/sources', changes, { domain: textOf(row['domain']) })} dir="auto" class="clamped">
        {textOf(row['domain'])}
      </Link>
    ),
  };
}

/** Returns the column of the owner of a domain. Rows have `owner`, unless another text is given. */
export function ownerColumn(ownerOf = (row: Row): string => textOf(row['owner'])): ColumnSpec<Row> {
  return { id: 'owner', label: 'Owner', value: ownerOf, cell: (row) => <OwnerTag owner={ownerOf(row)} /> };
}
