import type { JSX } from 'preact';
import { Timestamp } from '../../../components/parts.tsx';
import { plural } from '../../../state/amounts.ts';
import { useScope } from '../../../state/scope.tsx';
import type { PastQuery } from './query-history.ts';

export interface HistoryListProps {
  readonly queries: readonly PastQuery[];
  readonly onEdit: (sql: string) => void;
  readonly onClear: () => void;
}

const TITLE_MAX = 200;

/** The queries that were run in this browser. */
export function HistoryList({ queries, onEdit, onClear }: HistoryListProps): JSX.Element {
  const { format } = useScope();
  if (queries.length === 0) return <p class="state">Queries that you run are listed here, in this browser only.</p>;
  return (
    <>
      <div class="row">
        <span class="quiet">In this browser only</span>
        <button type="button" class="small" onClick={onClear}>
          Clear the history
        </button>
      </div>
      <ol class="sql-list">
        {queries.map(({ sql, at, rows, elapsedMs }) => (
          <li key={sql}>
            <button type="button" class="link clamped" title={sql.slice(0, 2_000)} onClick={() => onEdit(sql)}>
              <code>{sql.trim().slice(0, TITLE_MAX)}</code>
            </button>
            <p class="quiet">
              <Timestamp time={at} /> · {rows === null ? 'failed' : plural(rows, 'row')}
              {elapsedMs !== null && ` · ${format.value(elapsedMs / 1_000, 'number')} s`}
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}
