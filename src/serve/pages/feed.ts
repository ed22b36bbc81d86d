import type { Clock } from '../../base/clock.ts';
import type { RunningSync } from '../../sync/progress-file.ts';
import type { Reporter } from './status-report.ts';

const POLL_INTERVAL_MS = 1_000;
/** Interval of heartbeats, because proxies may close connections that are silent for longer. */
const HEARTBEAT_MS = 15_000;
/** Less often than progress, because the job log is read completely and jobs end rarely. */
const MARKS_INTERVAL_MS = 2_000;

/** A server-sent event. */
export interface FeedEvent {
  /**
   * `progress` of a running sync, null when it ends; `changed` lists what changed; `refused` and `bye` end the stream.
   */
  readonly event: 'progress' | 'changed' | 'refused' | 'bye';
  readonly data: unknown;
}

/** A connected page. */
export interface Listener {
  /** Id of its key or session. A holder can use half of the places, so that others are not rejected. */
  readonly holder: string;
  /** Sends an event, or a heartbeat for null. Returns false if the listener is too slow, which removes it. */
  take(event: FeedEvent | null): boolean;
  /** Whether the listener is still authorized; its key may have been revoked. */
  isAllowed(): boolean;
  end(): void;
}

/** Sends events to listeners. */
export interface Feed {
  /** Adds a listener and returns a function that removes it; null if the maximum of all listeners, or of the holder, is reached. */
  add(listener: Listener): (() => void) | null;
  /** Sends `bye` to all listeners and rejects new ones. */
  close(): void;
}

/** Creates a feed. It checks the files once a second while there are listeners, and not at all otherwise. */
export function createFeed(reporter: Reporter, clock: Clock, listenersMax: number): Feed {
  const listeners = new Set<Listener>();
  const stop = new AbortController();
  let isRunning = false;
  const end = (listener: Listener): void => {
    if (listeners.delete(listener)) listener.end();
  };
  const send = (event: FeedEvent | null): void => {
    for (const listener of listeners) if (!listener.take(event)) end(listener);
  };
  const run = async (): Promise<void> => {
    let marks = await reporter.marks();
    let progress = 'null';
    let sentAt = clock.monotonic();
    let marksAt = sentAt;
    while (listeners.size > 0 && !stop.signal.aborted) {
      await clock.sleep(POLL_INTERVAL_MS, stop.signal, 'background');
      for (const listener of listeners) {
        if (listener.isAllowed()) continue;
        listener.take({ event: 'refused', data: null });
        end(listener);
      }
      const now = clock.monotonic();
      const running = JSON.stringify(await reporter.progress());
      if (running !== progress) send({ event: 'progress', data: JSON.parse(running) as RunningSync | null });
      let hasSent = running !== progress;
      // Check marks right after a sync ends, to report its replica and the result of its job.
      if (now - marksAt >= MARKS_INTERVAL_MS || (running === 'null' && hasSent)) {
        const after = await reporter.marks();
        const changed = (['data', 'jobs', 'keys'] as const).filter((name) => after[name] !== marks[name]);
        if (changed.length > 0) send({ event: 'changed', data: changed });
        hasSent ||= changed.length > 0;
        marks = after;
        marksAt = now;
      }
      progress = running;
      if (hasSent) sentAt = now;
      else if (now - sentAt >= HEARTBEAT_MS) {
        send(null);
        sentAt = now;
      }
    }
  };
  const start = (): void => {
    if (isRunning) return;
    isRunning = true;
    void run()
      // On an error, end all listeners; they reconnect and the check is repeated.
      .catch(() => {
        for (const listener of listeners) end(listener);
      })
      .finally(() => {
        isRunning = false;
        if (listeners.size > 0 && !stop.signal.aborted) start();
      });
  };
  return {
    add: (listener) => {
      const own = [...listeners].filter(({ holder }) => holder === listener.holder).length;
      if (stop.signal.aborted || listeners.size >= listenersMax || own >= listenersMax / 2) return null;
      listeners.add(listener);
      start();
      return () => void listeners.delete(listener);
    },
    close: () => {
      send({ event: 'bye', data: null });
      for (const listener of listeners) end(listener);
      stop.abort(new Error('the feed is closed'));
    },
  };
}
