import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { SavedQuery, SavedQueryText } from '../../../../page-data/sql-data.ts';
import type { ApiError } from '../../../state/api.ts';
import { useApi } from '../../../state/data.tsx';
import { toApiError } from '../use-sql.ts';

const PATH = '/data/sql/saved';

/** The saved queries of the workspace. Changes fail with `changed_meanwhile` if somebody else changed the query. */
export interface Saved {
  /** Null while they are loading. */
  readonly list: readonly SavedQuery[] | null;
  readonly error: ApiError | null;
  readonly reload: () => void;
  read(name: string): Promise<SavedQueryText>;
  /** Writes a query; `etag` is null for a new one. */
  write(name: string, sql: string, etag: string | null): Promise<SavedQuery>;
  rename(name: string, to: string, etag: string): Promise<SavedQuery>;
  remove(name: string, etag: string): Promise<void>;
}

export function useSaved(): Saved {
  const api = useApi();
  const [state, setState] = useState<Pick<Saved, 'list' | 'error'>>({ list: null, error: null });
  const load = useCallback(async (): Promise<void> => {
    try {
      const { queries } = (await (await api.send('GET', PATH, null)).json()) as { queries: SavedQuery[] };
      setState({ list: queries, error: null });
    } catch (thrown) {
      setState(({ list }) => ({ list, error: toApiError(thrown) }));
    }
  }, [api]);
  useEffect(() => void load(), [load]);
  const change = useCallback(
    async (method: string, name: string, body: unknown, headers: Readonly<Record<string, string>>) => {
      const response = await api.send(method, `${PATH}/${encodeURIComponent(name)}`, body, { headers });
      const saved = response.status === 204 ? null : await response.json();
      void load();
      return saved as SavedQuery;
    },
    [api, load],
  );
  return useMemo(
    () => ({
      ...state,
      reload: () => void load(),
      read: async (name) => (await api.send('GET', `${PATH}/${encodeURIComponent(name)}`, null)).json(),
      write: (name, sql, etag) =>
        change('PUT', name, { sql }, etag === null ? { 'if-none-match': '*' } : { 'if-match': `"${etag}"` }),
      rename: (name, to, etag) => change('PATCH', name, { name: to }, { 'if-match': `"${etag}"` }),
      remove: async (name, etag) => void (await change('DELETE', name, null, { 'if-match': `"${etag}"` })),
    }),
    [state, api, load, change],
  );
}
