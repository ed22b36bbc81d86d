import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SavedQuery } from '../../../../page-data/sql-data.ts';
import { Timestamp, WhenLoaded } from '../../../components/parts.tsx';
import { asApiError, useApi } from '../../../state/data.tsx';
import type { Saved } from './use-saved.ts';

export interface SavedListProps {
  readonly saved: Saved;
  readonly onLoad: (name: string) => Promise<void>;
  /** Called after a query was renamed; `to` is null after it was deleted. */
  readonly onMoved: (name: string, to: SavedQuery | null) => void;
}

/** The saved queries, to open, rename and delete. */
export function SavedList({ saved, onLoad, onMoved }: SavedListProps): JSX.Element {
  if (saved.loaded.error?.status === 403) {
    return <p class="state">Saved queries may name any brand, so they need a key for all brands.</p>;
  }
  return (
    <WhenLoaded of={saved.loaded}>
      {({ queries }) =>
        queries.length === 0 ? (
          <p class="state">No saved queries yet. Enter a name below the editor and save the query.</p>
        ) : (
          <ul class="sql-list">
            {queries.map((query) => (
              <SavedItem key={query.name} query={query} saved={saved} onLoad={onLoad} onMoved={onMoved} />
            ))}
          </ul>
        )
      }
    </WhenLoaded>
  );
}

function SavedItem({ query, saved, onLoad, onMoved }: SavedListProps & { readonly query: SavedQuery }): JSX.Element {
  const { name, title, etag, changedAt } = query;
  const api = useApi();
  const [mode, setMode] = useState<'shown' | 'renaming' | 'deleting'>('shown');
  const [to, setTo] = useState(name);
  const [failure, setFailure] = useState('');
  const act = async (work: () => Promise<void>): Promise<void> => {
    setFailure('');
    try {
      await work();
      setMode('shown');
    } catch (thrown) {
      setFailure(asApiError(thrown).message);
      api.changed();
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
