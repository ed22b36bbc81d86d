import type { JSX } from 'preact';
import { type Row, textOf } from '../state/table.ts';
import { useMarking } from '../state/use-marking.ts';
import { Tag } from './parts.tsx';
import type { ColumnSpec } from './table-columns.tsx';
import { MARK } from './table-view.ts';

/** Returns the column in which readers mark a row as done or hidden. Rows with a mark are listed only if the facet shows them. */
export function markColumn(kindOf: (row: Row) => string, id: string): ColumnSpec {
  return {
    name: MARK,
    about: 'Done and hidden rows stay in this workspace. The facets above the table show them.',
    value: ({ mark }) => textOf(mark) || 'open',
    cell: (row) => <StateMark kind={kindOf(row)} id={textOf(row[id])} mark={textOf(row['mark'])} />,
  };
}

// The mark is empty if there is none.
function StateMark({ kind, id, mark }: Readonly<Record<'kind' | 'id' | 'mark', string>>): JSX.Element {
  const marking = useMarking(kind, id);
  const choices = mark === '' ? { Done: 'done', Hide: 'hidden' } : { Undo: null };
  return (
    <span class="choices">
      {mark !== '' && <Tag text={mark} />}
      {marking !== null &&
        Object.entries(choices).map(([label, value]) => (
          <button key={label} type="button" class="small" onClick={() => marking.set(value)}>
            {label}
          </button>
        ))}
      {marking !== null && marking.failure !== '' && <span role="alert">{marking.failure}</span>}
    </span>
  );
}
