import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ApiError, type Params, queryOf, queryPath } from './api.ts';
import { asApiError, type LoadedTable, useApi, useQuery } from './data.tsx';
import { type Row, type Table, textOf, toRecords } from './table.ts';

/** The pages of a list that were loaded so far. */
export interface CursorPages {
  /** The first page with its state. */
  readonly first: LoadedTable;
  readonly rows: readonly Row[];
  readonly isComplete: boolean;
  /** Error of a page after the first. */
  readonly error: ApiError | null;
  /** Requests the next page, unless one is under way or the list is complete. */
  readonly more: () => void;
}

interface Rest {
  /** The first page that these pages follow. */
  readonly of: Table | null;
  readonly rows: readonly Row[];
  readonly isComplete: boolean;
  readonly error: ApiError | null;
}

const NONE: Rest = { of: null, rows: [], isComplete: false, error: null };

/** Loads a declared query with the parameter `after` and the column `cursor` page by page. Other parameters begin again. */
export function useCursorPages(name: string, params: Params | null, pageRows: number): CursorPages {
  const api = useApi();
  const first = useQuery(name, params);
  const { table } = first;
  const [kept, setRest] = useState<Rest>(NONE);
  const under = useRef<AbortController | null>(null);
  const rest = kept.of === table ? kept : NONE;
  const rows = useMemo(() => [...toRecords(table), ...rest.rows], [table, rest]);
  const isComplete = table !== null && (table.rows.length < pageRows || rest.isComplete);
  const key = params === null ? null : queryOf(params);
  useEffect(() => {
    return () => {
      under.current?.abort();
      under.current = null;
    };
  }, [key, table]);
  const after = textOf(rows.at(-1)?.['cursor']);
  const more = useCallback(() => {
    if (table === null || isComplete || first.isLoading || under.current !== null || params === null) return;
    const controller = new AbortController();
    under.current = controller;
    const done = (next: Pick<Rest, 'rows' | 'isComplete' | 'error'>): void => {
      if (controller.signal.aborted) return;
      under.current = null;
      setRest({ of: table, ...next });
    };
    api.get<Table>(queryPath(name), { ...params, after }, controller.signal).then(
      (page) =>
        done({ rows: [...rest.rows, ...toRecords(page)], isComplete: page.rows.length < pageRows, error: null }),
      (thrown: unknown) => done({ ...rest, error: asApiError(thrown) }),
    );
  }, [api, name, key, table, after, isComplete, first.isLoading, rest]);
  return { first, rows, isComplete, error: rest.error, more };
}
