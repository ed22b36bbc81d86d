import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SavedQuery } from '../../../../page-data/sql-data.ts';
import { ErrorState, Timestamp } from '../../../components/parts.tsx';
import { toApiError } from '../use-sql.ts';
import type { Saved } from './use-saved.ts';

export interface SavedListProps {
  readonly saved: Saved;
  readonly onLoad: (name: string) => Promise<void>;
  /** Called after a query was renamed; `to` is null after it was deleted. */
  readonly onMoved: (name: string, to: SavedQuery | null) => void;
}

/** The saved queries, to open, rename and delete. */
export function SavedList({ saved, onLoad, onMoved }: SavedListProps): JSX.Element {
  const { list, error, reload } = saved;
  if (error?.status === 403) {
    return <p class="state">Saved queries may name any brand, so they need a key for all brands.</p>;
  }
  if (error !== null) return <ErrorState error={error} retry={reload} />;
  if (list === null) return <div class="skeleton" role="status" aria-label="Loading" />;
  if (list.length === 0) {
    return <p class="state">No saved queries yet. Enter a name below the editor and save the query.</p>;
  }
  return (
    <ul class="sql-list">
      {list.map((query) => (
        <SavedItem key={query.name} query={query} saved={saved} onLoad={onLoad} onMoved={onMoved} />
      ))}
    </ul>
  );
}

function SavedItem({ query, saved, onLoad, onMoved }: SavedListProps & { readonly query: SavedQuery }): JSX.Element {
  const { name, title, etag, changedAt } = query;
  const [mode, setMode] = useState<'shown' | 'renaming' | 'deleting'>('shown');
  const [to, setTo] = useState(name);
  const [failure, setFailure] = useState('');
  const act = async (work: () => Promise<void>): Promise<void> => {
    setFailure('');
    try {
      await work();
      setMode('shown');
    } catch (thrown) {
      setFailure(toApiError(thrown).message);
      saved.reload();
    }
  };
  const rename = (event: Event): void => {
    event.preventDefault();
    void act(async () => onMoved(name, await saved.rename(name, to, etag)));
  };
  const remove = async (): Promise<void> => {
    await saved.remove(name, etag);
    onMoved(name, null);
  };
  const keep = ['Keep', () => setMode('shown')] as const;
  const actions: Readonly<Record<typeof mode, readonly (readonly [string, () => void, string?])[]>> = {
    shown: [
      ['Rename', () => setMode('renaming'), `Rename ${name}`],
      ['Delete …', () => setMode('deleting'), `Delete ${name} …`],
    ],
    renaming: [keep],
    deleting: [[`Delete ${name}`, () => void act(remove)], keep],
  };
  return (
    <li>
      <button type="button" class="link" onClick={() => void act(() => onLoad(name))}>
        {name}
      </button>
      {title !== null && <p dir="auto">{title}</p>}
      <p class="quiet">
        <Timestamp time={changedAt} />
      </p>
      <form class="row" onSubmit={rename}>
        {mode === 'renaming' && (
          <input
            value={to}
            aria-label={`New name of ${name}`}
            maxLength={64}
            spellcheck={false}
            onInput={(event) => setTo(event.currentTarget.value)}
          />
        )}
        {mode === 'renaming' && (
          <button type="submit" class="small">
            Rename
          </button>
        )}
        {actions[mode].map(([label, onClick, about]) => (
          <button key={label} type="button" class="small" aria-label={about} onClick={onClick}>
            {label}
          </button>
        ))}
      </form>
      {failure !== '' && <p role="alert">{failure}</p>}
    </li>
  );
}
