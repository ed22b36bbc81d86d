import type { Clock } from '../base/clock.ts';

/** Time from the start of a sync before which it publishes nothing: a short sync writes one replica, at its end. */
const SETTLE_MS = 10_000;
/** Time from the start of a sync to the first replica with whatever is complete by then. */
const FIRST_MS = 20_000;
/** Time between replicas of a running sync. */
const EVERY_MS = 180_000;
/** Least time between replicas, as a multiple of the time that the last one took. */
const TIMES_THE_DURATION = 20;

/** Publishes replicas while a sync runs. */
export interface MidwayPublisher {
  /**
   * All lists, or all windows, are complete: publishes as soon as possible, at the earliest 10 seconds after the start and
   * 20 times the duration of the last replica after it.
   */
  milestone(): void;
  /** Called after every page and slice. Publishes if that is due and could not be done before. */
  onProgress(): void;
  /** Stops publishing and waits for a replica that is being written. */
  close(): Promise<void>;
}

/** Dependencies of a midway publisher. */
export interface MidwayParts {
  readonly clock: Clock;
  /** Publishes the replica, unless it would mix two reads of a day. Returns whether it did. */
  publish(): Promise<boolean>;
}

/**
 * Publishes the replica when a part of a sync is complete, 20 seconds after its start and then every 3 minutes, but not in
 * the first 10 seconds and for at most a twentieth of the time. Waits while days are read again that readers already have. Errors
 * are ignored: the replica at the end of the sync reports them.
 */
export function createMidwayPublisher({ clock, publish }: MidwayParts): MidwayPublisher {
  const stop = new AbortController();
  let isSettled = false;
  let isDue = false;
  let hasNews = false;
  let busy: Promise<void> | null = null;
  let notBefore = Number.NEGATIVE_INFINITY;
  const attempt = (): void => {
    if (busy !== null || !isSettled || !isDue || !hasNews || stop.signal.aborted) return;
    if (clock.monotonic() < notBefore) return;
    busy = (async () => {
      [isDue, hasNews] = [false, false];
      const startedAt = clock.monotonic();
      const isPublished = await publish();
      const endedAt = clock.monotonic();
      if (isPublished) notBefore = endedAt + TIMES_THE_DURATION * (endedAt - startedAt);
      else [isDue, hasNews] = [true, true];
    })()
      .catch(() => undefined)
      .finally(() => {
        busy = null;
      });
  };
  const due = (): void => {
    isDue = true;
    attempt();
  };
  const tick = async (): Promise<void> => {
    await clock.sleep(SETTLE_MS, stop.signal, 'background');
    isSettled = true;
    attempt();
    for (let waitMs = FIRST_MS - SETTLE_MS; ; waitMs = EVERY_MS) {
      await clock.sleep(waitMs, stop.signal, 'background');
      due();
    }
  };
  tick().catch(() => undefined);
  return {
    milestone: due,
    onProgress: () => {
      hasNews = true;
      attempt();
    },
    close: async () => {
      stop.abort();
      await busy;
    },
  };
}
