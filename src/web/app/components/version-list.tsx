import type { JSX } from 'preact';
import { type Row, textOf } from '../state/table.ts';
import { Timestamp } from './parts.tsx';

export interface VersionListProps {
  /** Versions, newest first, with `valid_from`, `change` and the names of `changed` columns. */
  readonly rows: readonly Row[];
  /** Labels of columns by name. */
  readonly labels: Readonly<Record<string, string>>;
  /** Text of a column of a version. */
  readonly shown: (name: string, row: Row) => string;
  /** Describes the first version. */
  readonly first: (row: Row) => string;
  /** Follows the sentence that the item was deleted. */
  readonly afterDeletion: string;
}

/** Versions of an item, each with what changed since the version before. */
export function VersionList({ rows, ...texts }: VersionListProps): JSX.Element {
  return (
    <ol class="versions">
      {rows.map((row, index) => (
        <li key={`${textOf(row['valid_from'])}${textOf(row['change'])}`}>
          <Version row={row} previous={rows[index + 1] ?? null} {...texts} />
        </li>
      ))}
    </ol>
  );
}

type VersionProps = Omit<VersionListProps, 'rows'> & { readonly row: Row; readonly previous: Row | null };

function Version({ row, previous, labels, shown, first, afterDeletion }: VersionProps): JSX.Element {
  const change = textOf(row['change']);
  const changed = listOf(row['changed']);
  const time = <Timestamp time={textOf(row['valid_from']) || null} />;
  if (change === 'deleted') {
    return (
      <p>
        {time}: deleted in the API. {afterDeletion}
      </p>
    );
  }
  if (change === 'inserted' || previous === null) {
    return (
      <p>
        {time}: first seen as <span dir="auto">{first(row)}</span>
      </p>
    );
  }
  const isRestored = change === 'restored';
  return (
    <>
      <p>
        {time}: {isRestored && 'listed again'}
        {isRestored && changed.length > 0 && ', '}
        {!isRestored && changed.length === 0 && 'fields that the API does not document changed.'}
        {changed.length > 0 && 'changed'}
      </p>
      {changed.length > 0 && (
        <ul>
          {changed.map((name) => (
            <li key={name}>
              {labels[name] ?? name}: <span dir="auto">{shown(name, previous)}</span> →{' '}
              <strong dir="auto">{shown(name, row)}</strong>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Returns a JSON column with a list of texts. */
export function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(textOf) : [];
}
