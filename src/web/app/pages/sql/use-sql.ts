import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../state/api.ts';
import { asApiError, useApi } from '../../state/data.tsx';
import type { Table } from '../../state/table.ts';

/** State of the last query. */
export interface SqlRun {
  /** Its text; null before the first query. */
  readonly sql: string | null;
  readonly isRunning: boolean;
  /** The result of the last query that succeeded. */
  readonly table: Table | null;
  readonly error: ApiError | null;
  /** Time when it was started, in milliseconds since 1970. */
  readonly startedAt: number;
}

export interface SqlRunner extends SqlRun {
  readonly run: (sql: string) => Promise<Table | null>;
  /** Cancels the running query; false if there is none. */
  readonly cancel: () => boolean;
  /** Runs a query again and returns its complete result as a file. */
  readonly download: (sql: string, accept: string) => Promise<Blob>;
}

const PATH = '/data/sql';

/** Runs one query at a time; a new one cancels the one before, and leaving the page cancels all. */
export function useSql(): SqlRunner {
  const api = useApi();
  const [state, setState] = useState<SqlRun>({ sql: null, isRunning: false, table: null, error: null, startedAt: 0 });
  const running = useRef<{ readonly id: string; readonly controller: AbortController } | null>(null);
  const leave = useRef(new AbortController());
  useEffect(() => {
    leave.current = new AbortController();
    return () => leave.current.abort();
  }, []);
  const stop = useCallback((): boolean => {
    const current = running.current;
    if (current === null) return false;
    // The response of the canceled query ends it. Ignore the error if the query has just ended.
    api.send('DELETE', `${PATH}/${current.id}`, null).catch(() => current.controller.abort());
    return true;
  }, [api]);
  const run = useCallback(
    async (sql: string): Promise<Table | null> => {
      stop();
      const controller = new AbortController();
      const mine = { id: newId(), controller };
      running.current = mine;
      const isCurrent = (): boolean => running.current === mine;
      setState((last) => ({ ...last, sql, isRunning: true, error: null, startedAt: Date.now() }));
      try {
        const signal = AbortSignal.any([controller.signal, leave.current.signal]);
        const response = await api.send('POST', PATH, { sql, id: mine.id }, { signal });
        const table = (await response.json()) as Table;
        if (isCurrent()) setState((last) => ({ ...last, isRunning: false, table, error: null }));
        return table;
      } catch (thrown) {
        if (isCurrent() && !leave.current.signal.aborted) {
          setState((last) => ({ ...last, isRunning: false, error: asApiError(thrown) }));
        }
        return null;
      } finally {
        if (isCurrent()) running.current = null;
      }
    },
    [api, stop],
  );
  const download = useCallback(
    async (sql: string, accept: string): Promise<Blob> => {
      const response = await api.send('POST', PATH, { sql }, { accept, signal: leave.current.signal });
      return response.blob();
    },
    [api],
  );
  return { ...state, run, cancel: stop, download };
}

// crypto.randomUUID needs HTTPS or the loopback.
function newId(): string {
  return [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join('-');
}
