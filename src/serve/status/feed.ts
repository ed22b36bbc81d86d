import type { Clock } from '../../base/clock.ts';
import type { RunningSync } from '../../sync/progress-file.ts';
import type { Reporter } from './report.ts';

const LOOK_EVERY_MS = 1_000;
/** A connection on which nothing is said for longer may be taken for dead on its way. */
const HEARTBEAT_MS = 15_000;
/** Jobs are in a file that is read whole, and end seldom. */
const MARKS_EVERY_MS = 2_000;

/** Something that a listener is told, as server-sent events have it. */
export interface FeedEvent {
  /** `progress` of a running sync, null once it has ended; `changed` names what; `refused` and `bye` end the stream. */
  readonly event: 'progress' | 'changed' | 'refused' | 'bye';
  readonly data: unknown;
}

/** Someone who listens. */
export interface Listener {
  /** Takes an event, or null for a sign of life; false where it is not kept up with, which ends it. */
  take(event: FeedEvent | null): boolean;
  /** Whether it may still listen: its key may have been revoked since. */
  isAllowed(): boolean;
  end(): void;
}

/** Tells listeners what happens, while there are any. */
export interface Feed {
  /** Adds a listener, and returns what takes it away; null where there are as many as can be. */
  add(listener: Listener): (() => void) | null;
  /** Says goodbye to all; nobody can be added any more. */
  close(): void;
}

/** Builds a feed. Files are looked at once a second while somebody listens, and not at all while nobody does. */
export function createFeed(reporter: Reporter, clock: Clock, listenersMax: number): Feed {
  const listeners = new Set<Listener>();
  const stop = new AbortController();
  let isRunning = false;
  const end = (listener: Listener): void => {
    if (listeners.delete(listener)) listener.end();
  };
  const tell = (event: FeedEvent | null): void => {
    for (const listener of listeners) if (!listener.take(event)) end(listener);
  };
  const run = async (): Promise<void> => {
    let marks = await reporter.marks();
    let progress = 'null';
    let spokeAt = clock.monotonic();
    let marksAt = spokeAt;
    while (listeners.size > 0 && !stop.signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, stop.signal);
      for (const listener of listeners) {
        if (listener.isAllowed()) continue;
        listener.take({ event: 'refused', data: null });
        end(listener);
      }
      const now = clock.monotonic();
      const running = JSON.stringify(await reporter.progress());
      if (running !== progress) tell({ event: 'progress', data: JSON.parse(running) as RunningSync | null });
      let hasSpoken = running !== progress;
      // What a sync published, and how its job ended, show just after its progress has gone.
      if (now - marksAt >= MARKS_EVERY_MS || (running === 'null' && hasSpoken)) {
        const after = await reporter.marks();
        const what = (['data', 'jobs', 'keys'] as const).filter((name) => after[name] !== marks[name]);
        if (what.length > 0) tell({ event: 'changed', data: what });
        hasSpoken ||= what.length > 0;
        marks = after;
        marksAt = now;
      }
      progress = running;
      if (hasSpoken) spokeAt = now;
      else if (now - spokeAt >= HEARTBEAT_MS) {
        tell(null);
        spokeAt = now;
      }
    }
  };
  const start = (): void => {
    if (isRunning) return;
    isRunning = true;
    void run()
      // What cannot be looked at now is looked at again when listeners come back.
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
      if (stop.signal.aborted || listeners.size >= listenersMax) return null;
      listeners.add(listener);
      start();
      return () => void listeners.delete(listener);
    },
    close: () => {
      tell({ event: 'bye', data: null });
      for (const listener of listeners) end(listener);
      stop.abort(new Error('the feed is closed'));
    },
  };
}
