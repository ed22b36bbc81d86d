import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { type Api, ApiError, createApi, type Me, type Params, queryOf, queryPath, type Turn } from './api.ts';
import { usePaper } from './paper.ts';
import type { Table } from './table.ts';

/** The client of the page; the default has no base path. */
export const ApiContext = createContext<Api>(createApi(''));

export function useApi(): Api {
  return useContext(ApiContext);
}

/** A result with its state. While new data are loading, `data` is the last result. */
export interface Loaded<T> {
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  /** Requests the data again, after an error. */
  readonly retry: () => void;
}

/** A table with its state. */
export interface LoadedTable {
  readonly table: Table | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly retry: () => void;
}

interface State<T> {
  readonly key: string | null;
  readonly data: T | null;
  readonly error: ApiError | null;
}

/** Returns the JSON of a path; a path of null requests nothing. Requests again when the server's data have changed. */
export function useResource<T>(path: string | null, params: Params = {}, turn: Turn = 'next'): Loaded<T> {
  const api = useApi();
  const key = path === null ? null : `${path}${queryOf(params)}`;
  const [version, refresh] = useReducer<number, void>((count) => count + 1, 0);
  const [state, setState] = useState<State<T>>(() => {
    const known = path === null ? null : api.peek<T>(path, params);
    return { key: known === null ? null : key, data: known, error: null };
  });
  const request = useRef({ path, params });
  request.current = { path, params };
  useEffect(() => api.onChange(() => refresh()), [api]);
  useEffect(() => {
    const { path, params } = request.current;
    if (path === null) return;
    const known = api.peek<T>(path, params);
    if (known !== null) {
      setState({ key, data: known, error: null });
      return;
    }
    const controller = new AbortController();
    api.get<T>(path, params, controller.signal, turn).then(
      (data) => !controller.signal.aborted && setState({ key, data, error: null }),
      (error: unknown) =>
        !controller.signal.aborted && setState(({ data }) => ({ key, data, error: asApiError(error) })),
    );
    return () => controller.abort();
  }, [api, key, version, turn]);
  const retry = useCallback(() => refresh(), []);
  const isCurrent = state.key === key;
  return { data: state.data, error: isCurrent ? state.error : null, isLoading: key !== null && !isCurrent, retry };
}

/** Returns the table of a path; params of null request nothing. */
export function useTable(path: string, params: Params | null, turn?: Turn): LoadedTable {
  const { data, ...rest } = useResource<Table>(params === null ? null : path, params ?? {}, turn);
  return { table: data, ...rest };
}

/** Returns the rows of a declared query; params of null request nothing. */
export function useQuery(name: string, params: Params | null): LoadedTable {
  return useTable(queryPath(name), params);
}

/** A request to the metrics layer: names of measures, dimensions and the scope. */
export type MetricsParams = Params & { readonly metrics: string };

/** Returns measures of the metrics layer; params of null request nothing. */
export function useMetrics(params: MetricsParams | null, turn?: Turn): LoadedTable {
  return useTable('/data/metrics', params, turn);
}

/**
 * Returns the sentence that tells how upstream's definition of a measure differs, after a space; an empty text if it does not. The names
 * are those of `upstream` in the model of the metrics.
 */
export function useUpstreamNote(name: string): string {
  const { data } = useResource<{ readonly upstream: Readonly<Record<string, string>> }>('/data/metrics/model');
  const note = data?.upstream[name];
  return note === undefined ? '' : ` ${note}`;
}

/** Returns the signed-in user's rights and the features of the server; null until they are known, and in a report. */
export function useMe(): Loaded<Me> {
  const api = useApi();
  const me = useResource<Me>(usePaper() === null ? '/data/me' : null);
  const csrf = me.data?.csrf ?? null;
  const { retry } = me;
  useEffect(() => api.setCsrf(csrf), [api, csrf]);
  useEffect(() => api.onRefused(retry), [api, retry]);
  return me;
}

/** Returns an error as one of a request. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Error && error.name === 'AbortError')
    return new ApiError(0, 'query_canceled', 'The query was canceled.', null);
  return new ApiError(0, 'invalid_response', error instanceof Error ? error.message : String(error), null);
}
