import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GalleryQuery } from '../../../../../metrics/gallery/gallery.ts';
import { ErrorState } from '../../../components/parts.tsx';
import { useResource } from '../../../state/data.tsx';

export interface QuestionListProps {
  readonly onRun: (sql: string) => void;
  readonly onEdit: (sql: string) => void;
}

/** Questions of analysts with the SQL that answers them. */
export function QuestionList({ onRun, onEdit }: QuestionListProps): JSX.Element {
  const gallery = useResource<{ readonly queries: readonly GalleryQuery[] }>('/data/sql/gallery');
  const [filter, setFilter] = useState('');
  if (gallery.error !== null) return <ErrorState error={gallery.error} retry={gallery.retry} />;
  if (gallery.data === null) return <div class="skeleton" role="status" aria-label="Loading" />;
  const words = filter.toLowerCase().split(/\s+/);
  const found = gallery.data.queries.filter(({ question, about, tables }) => {
    const text = `${question} ${about} ${tables.join(' ')}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <input
        type="search"
        value={filter}
        placeholder="Find questions"
        aria-label="Find questions"
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      {found.length === 0 && <p class="state">No question has these words.</p>}
      <ol class="sql-list">
        {found.map(({ number, question, about, sql }) => (
          <li key={number}>
            <strong>{question}</strong>
            <p class="quiet">{about}</p>
            <div class="row">
              <button
                type="button"
                class="small"
                aria-label={`Run: ${question}`}
                onClick={() => onRun(titled(question, sql))}
              >
                Run
              </button>
              <button
                type="button"
                class="small"
                aria-label={`Edit: ${question}`}
                onClick={() => onEdit(titled(question, sql))}
              >
                Edit
              </button>
            </div>
          </li>
        ))}
      </ol>
    </>
  );
}

// The first comment is the title of a saved query.
function titled(question: string, sql: string): string {
  return `-- ${question}\n${sql}\n`;
}
