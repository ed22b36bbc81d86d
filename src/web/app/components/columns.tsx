import type { JSX } from 'preact';
import type { Filters } from '../state/filters.ts';
import { NO_VALUE } from '../state/format.ts';
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

/** Returns the column of the owner of a domain; left out if no owner is known. Rows have `owner`, unless another text is given. */
export function ownerColumn<Item extends { readonly owner?: unknown }>(
  ownerOf = ({ owner }: Item): string => knownOwner(textOf(owner)),
): ColumnSpec<Item> {
  const cell = (item: Item): JSX.Element | string =>
    ownerOf(item) === '' ? NO_VALUE : <OwnerTag owner={ownerOf(item)} />;
  return { id: 'owner', label: 'Owner', isOptional: true, value: ownerOf, cell };
}

/** Returns the kind of an owner; empty if it is not known. */
export function knownOwner(owner: string): string {
  return owner === 'unknown' ? '' : owner;
}
