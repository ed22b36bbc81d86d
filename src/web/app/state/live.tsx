import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { RunningSync } from '../../../sync/progress-file.ts';
import type { Api } from './api.ts';
import { useApi } from './data.tsx';

/** State that the server reports while the page is open. */
export interface Live {
  readonly connection: 'connecting' | 'live' | 'lost';
  /** The running sync; undefined until the server has reported one or its end. */
  readonly progress: RunningSync | null | undefined;
}

const WAIT_MS = 1_000;
const WAIT_MS_MAX = 30_000;

const LiveContext = createContext<Live>({ connection: 'connecting', progress: undefined });

export function useLive(): Live {
  return useContext(LiveContext);
}

/** Listens to the server, if the reader may, and requests the data of the page again when they have changed. */
export function LiveProvider({
  isOn,
  children,
}: {
  readonly isOn: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  const api = useApi();
  const [live, setLive] = useState<Live>({ connection: 'connecting', progress: undefined });
  useEffect(
    () => (isOn ? followServer(api, (change) => setLive((before) => ({ ...before, ...change }))) : undefined),
    [api, isOn],
  );
  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>;
}

/** Reports changes of the server until the returned function is called. Reconnects with increasing delays. */
export function followServer(
  api: Api,
  report: (change: Partial<Live>) => void,
  Source: typeof EventSource = EventSource,
): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = WAIT_MS;
  let hasLost = false;
  let hadSync: boolean | null = null;
  const lose = (): void => {
    hasLost = true;
    report({ connection: 'lost' });
  };
  const open = (): void => {
    source = new Source(`${api.base}/status/events`);
    source.addEventListener('open', () => {
      waitMs = WAIT_MS;
      report({ connection: 'live' });
      // Changes may have been missed.
      if (hasLost) api.changed();
      hasLost = false;
    });
    source.addEventListener('progress', (event) => {
      const progress = JSON.parse(String((event as MessageEvent).data)) as RunningSync | null;
      report({ progress });
      // When a sync begins or ends, more than its progress changes.
      if (hadSync !== (progress !== null)) api.changed();
      hadSync = progress !== null;
    });
    source.addEventListener('changed', () => api.changed());
    source.addEventListener('refused', () => {
      close();
      api.refused();
    });
    source.addEventListener('error', () => {
      lose();
      // After a lost connection the browser reconnects by itself, but not after an error response.
      if (source?.readyState !== Source.CLOSED) return;
      api.refused();
      timer = setTimeout(open, waitMs * (0.75 + Math.random() / 2));
      waitMs = Math.min(WAIT_MS_MAX, waitMs * 2);
    });
  };
  const close = (): void => {
    clearTimeout(timer);
    source?.close();
  };
  open();
  return close;
}
