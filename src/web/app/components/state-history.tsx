import type { JSX } from 'preact';
import { textOf, type Value } from '../state/table.ts';
import { Timestamp } from './parts.tsx';
import type { ColumnSpec } from './table-columns.tsx';

/** A period of an item in a state, as sightline recorded it. */
export interface StatePeriod {
  readonly status: string;
  readonly since: string;
  /** Null while the state lasts. */
  readonly until: string | null;
}

/** Reads the column `states` of a declared query. */
export function statesOf(value: Value | undefined): readonly StatePeriod[] {
  const list = Array.isArray(value) ? (value as readonly Readonly<Record<string, unknown>>[]) : [];
  return list.map((each) => ({
    status: textOf(each['status']) || 'unknown',
    since: textOf(each['since']),
    until: textOf(each['until']) || null,
  }));
}

/** The present state of rows with `status` and `gone_at`. */
export const STATUS: ColumnSpec = {
  name: 'status',
  label: 'State',
  value: ({ status, gone_at: gone }) => (gone === null ? textOf(status) : `${textOf(status)}, no longer listed`),
  isTag: true,
};

/** The recorded states of rows with `states`, `since` and `gone_at`. */
export const HISTORY: ColumnSpec = {
  name: 'states',
  label: 'History',
  about: 'States that syncs recorded, with the day on which a sync first saw each.',
  cell: ({ states, gone_at: gone }) => <StateList states={statesOf(states)} goneAt={textOf(gone) || null} />,
};

/** The states of an item as a list with times. */
export function StateList({
  states,
  goneAt,
}: {
  readonly states: readonly StatePeriod[];
  readonly goneAt: string | null;
}): JSX.Element {
  return (
    <ol class="states">
      {states.map(({ status, since, until }, index) => (
        <li key={`${since}${status}`}>
          <b dir="auto">{status}</b> {index === 0 ? 'recorded since' : 'since'} <Timestamp time={since} />
          {until !== null && (
            <>
              {' '}
              until <Timestamp time={until} />
            </>
          )}
        </li>
      ))}
      {states.length === 0 && <li>The history was not recorded.</li>}
      {goneAt !== null && (
        <li>
          Not listed by the API since <Timestamp time={goneAt} />. This is the last recorded version.
        </li>
      )}
    </ol>
  );
}
