import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SavedQuery } from '../../../page-data/sql-data.ts';
import type { ApiError } from '../../state/api.ts';
import { asApiError } from '../../state/data.tsx';
import type { Saved } from './side/use-saved.ts';

/** The saved query in the editor. */
export type OpenQuery = Pick<SavedQuery, 'name' | 'etag'> & { readonly sql: string };

export interface SaveBarProps {
  readonly saved: Saved;
  /** The saved query that was opened last; null for a new one. */
  readonly open: OpenQuery | null;
  readonly text: string;
  readonly onOpen: (query: OpenQuery | null) => void;
  /** Replaces the text of the editor with the saved one. */
  readonly onLoad: (name: string) => Promise<void>;
}

/** Saves the query under a name. A query that somebody else changed is overwritten only after a question. */
export function SaveBar({ saved, open, text, onOpen, onLoad }: SaveBarProps): JSX.Element {
  const [name, setName] = useState(open?.name ?? '');
  const [error, setError] = useState<ApiError | null>(null);
  const [status, setStatus] = useState('');
  useEffect(() => {
    setName(open?.name ?? '');
    setError(null);
  }, [open?.name]);
  const act = async (work: () => Promise<void>): Promise<void> => {
    setError(null);
    setStatus('');
    try {
      await work();
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  };
  const write = async (etag: string | null): Promise<void> => {
    const entry = await saved.write(name, text, etag);
    onOpen({ name, etag: entry.etag, sql: text });
    setStatus(`Saved as ${name}.`);
  };
  const save = (event: Event): void => {
    event.preventDefault();
    void act(() => write(open?.name === name ? open.etag : null));
  };
  const isSame = open !== null && open.name === name && open.sql === text;
  return (
    <form class="row save-bar" onSubmit={save} aria-label="Save the query">
      <input
        value={name}
        placeholder="name of the query"
        aria-label="Name of the saved query"
        pattern="[a-z0-9][a-z0-9_\-]{0,63}"
        title="Lower-case letters, digits, - and _; at most 64"
        maxLength={64}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" disabled={name === '' || text.trim() === '' || isSame}>
        Save
      </button>
      <span class="quiet" role="status">
        {error === null && (status !== '' && isSame ? status : open !== null && open.sql !== text ? 'Not saved' : '')}
      </span>
      {error !== null && (
        <div role="alert" class="save-error">
          {error.code === 'changed_meanwhile' ? (
            <>
              <p>There is another version of “{name}”, from another tab, person or program.</p>
              <div class="row">
                <button type="button" onClick={() => void act(() => onLoad(name))}>
                  Open the other version
                </button>
                <button type="button" onClick={() => void act(async () => write((await saved.read(name)).etag))}>
                  Overwrite it
                </button>
              </div>
            </>
          ) : (
            <p>{error.message}</p>
          )}
        </div>
      )}
    </form>
  );
}
