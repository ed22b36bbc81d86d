import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiError } from '../state/api.ts';
import { asApiError, useApi, useResource } from '../state/data.tsx';
import { ErrorState, Timestamp } from './parts.tsx';

interface Session {
  readonly id: string;
  readonly createdAt: string;
  readonly usedAt: string;
  readonly userAgent: string;
  readonly key: string | null;
  readonly current: boolean;
}

/** The browser sessions that the reader may end. */
export function SessionList(): JSX.Element {
  const api = useApi();
  const { data, error, retry } = useResource<{ readonly sessions: readonly Session[] }>('/data/sessions');
  const [failure, setFailure] = useState<ApiError | null>(null);
  const end = (id: string): void => {
    api.send('DELETE', `/data/sessions/${id}`, null).then(
      () => api.changed(),
      (thrown: unknown) => setFailure(asApiError(thrown)),
    );
  };
  if (error !== null) return <ErrorState error={error} retry={retry} />;
  if (data === null) return <div class="skeleton" role="status" aria-label="Loading" />;
  if (data.sessions.length === 0) return <p class="quiet">No browser is signed in.</p>;
  return (
    <>
      {failure !== null && <ErrorState error={failure} />}
      <section class="table-box" tabIndex={0} aria-label="Browser sessions">
        <table>
          <thead>
            <tr>
              {['Browser', 'Signed in with', 'Since', 'Last used', 'End'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.sessions.map(({ id, userAgent, key, createdAt, usedAt, current }) => (
              <tr key={id}>
                <td dir="auto">
                  {userAgent} {current && <span class="tag">this one</span>}
                </td>
                <td dir="auto">{key === null ? 'link' : `key ${key}`}</td>
                <td>
                  <Timestamp time={createdAt} />
                </td>
                <td>
                  <Timestamp time={usedAt} />
                </td>
                <td>
                  <button type="button" class="small" onClick={() => end(id)}>
                    {current ? 'Sign out' : 'End'}
                    <span class="hidden-text"> {userAgent}</span>
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}
