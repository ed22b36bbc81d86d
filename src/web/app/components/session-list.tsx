import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiError } from '../state/api.ts';
import { asApiError, useApi, useResource } from '../state/data.tsx';
import { PlainTable } from './marks.tsx';
import { ErrorState, Timestamp, WhenLoaded } from './parts.tsx';

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
  const loaded = useResource<{ readonly sessions: readonly Session[] }>('/data/sessions');
  const [failure, setFailure] = useState<ApiError | null>(null);
  const end = (id: string): void => {
    api.send('DELETE', `/data/sessions/${id}`, null).then(
      () => api.changed(),
      (thrown: unknown) => setFailure(asApiError(thrown)),
    );
  };
  return (
    <>
      {failure !== null && <ErrorState error={failure} />}
      <WhenLoaded of={loaded}>
        {({ sessions }) =>
          sessions.length === 0 ? (
            <p class="quiet">No browser is signed in.</p>
          ) : (
            <PlainTable
              caption="Browser sessions"
              columns={['Browser', 'Signed in with', 'Since', 'Last used', 'End']}
              rows={sessions.map(({ id, userAgent, key, createdAt, usedAt, current }) => [
                <span key="browser">
                  {userAgent} {current && <span class="tag">this one</span>}
                </span>,
                key === null ? 'link' : `key ${key}`,
                <Timestamp key="since" time={createdAt} />,
                <Timestamp key="used" time={usedAt} />,
                <button key="end" type="button" class="small" onClick={() => end(id)}>
                  {current ? 'Sign out' : 'End'}
                  <span class="hidden-text"> {userAgent}</span>
                </button>,
              ])}
            />
          )
        }
      </WhenLoaded>
    </>
  );
}
