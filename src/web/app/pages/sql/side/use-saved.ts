import { useCallback, useMemo } from 'preact/hooks';
import type { SavedQuery, SavedQueryText } from '../../../../page-data/sql-data.ts';
import { type Loaded, useApi, useResource } from '../../../state/data.tsx';

const PATH = '/data/sql/saved';

/** The saved queries of the workspace. Changes fail with `changed_meanwhile` if somebody else changed the query. */
export interface Saved {
  readonly loaded: Loaded<{ readonly queries: readonly SavedQuery[] }>;
  read(name: string): Promise<SavedQueryText>;
  /** Writes a query; `etag` is null for a new one. */
  write(name: string, sql: string, etag: string | null): Promise<SavedQuery>;
  rename(name: string, to: string, etag: string): Promise<SavedQuery>;
  remove(name: string, etag: string): Promise<void>;
}

export function useSaved(): Saved {
  const api = useApi();
  const loaded = useResource<{ readonly queries: readonly SavedQuery[] }>(PATH);
  const change = useCallback(
    async (method: string, name: string, body: unknown, headers: Readonly<Record<string, string>>) => {
      const response = await api.send(method, `${PATH}/${encodeURIComponent(name)}`, body, { headers });
      const saved = response.status === 204 ? null : await response.json();
      api.changed();
      return saved as SavedQuery;
    },
    [api],
  );
  return useMemo(
    () => ({
      loaded,
      read: async (name) => (await api.send('GET', `${PATH}/${encodeURIComponent(name)}`, null)).json(),
      write: (name, sql, etag) =>
        change('PUT', name, { sql }, etag === null ? { 'if-none-match': '*' } : { 'if-match': `"${etag}"` }),
      rename: (name, to, etag) => change('PATCH', name, { name: to }, { 'if-match': `"${etag}"` }),
      remove: async (name, etag) => void (await change('DELETE', name, null, { 'if-match': `"${etag}"` })),
    }),
    [loaded, api, change],
  );
}
