import { hostname } from 'node:os';
import PQueue from 'p-queue';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { HomeWork } from '../publish/destinations/home-protocol.ts';
import { type Grant, once, type SessionDriver } from './driver.ts';
import { atHome, type HomeConfig, keptFiles, makeEqual, writeMark } from './home-folder.ts';
import { withStore } from './storage-location.ts';

/** Interval of the saves while a process works, and how long a lease lives that is not renewed. */
const SAVE_MS = 2 * 60_000;
const LEASE_MS = 6 * 60_000;
/** Attempts of the last save, and the wait between them. */
const ATTEMPTS = 4;
const RETRY_MS = 5_000;

/** Runs `read` while no statement of an open warehouse writes. */
type Alone = (read: () => Promise<void>) => Promise<void>;

/** The home of a workspace, while a process has its lease. */
export interface LeasedHome {
  /** Saves the data. Throws `lease_lost`, and `destination_failed`, after which the next save includes them. */
  save(): Promise<void>;
  /** Opens the warehouse while no save reads its file. Later saves read it within the function that `aloneOf` returns. */
  open<T>(work: () => Promise<T>, aloneOf: (opened: T) => Alone): Promise<T>;
  /** Closes the warehouse while no save reads its file. */
  close(work: () => Promise<void>): Promise<void>;
}

/** The lease on a home. Releasing it first saves the data, and throws `lease_lost` and `destination_failed`. */
export interface HomeGrant extends Grant {
  readonly epoch: number;
  readonly home: LeasedHome;
}

/** Dependencies of `createHomeDriver`. */
export interface HomeDriverParts {
  readonly config: HomeConfig & Pick<WorkspaceConfig, 'publish'>;
  readonly clock: Clock;
  /** ID of the queue task for which the session is entered, or null. A retry of the task takes over the lease at once. */
  readonly task: string | null;
}

/**
 * Creates the driver that excludes other machines from a workspace whose home is a destination: a lease there, whose holder has the data
 * in its folder and saves them every two minutes and at the end. It has no queue, so it also refuses requests that could wait.
 */
export function createHomeDriver(parts: HomeDriverParts): SessionDriver<HomeGrant> {
  const { config, clock, task } = parts;
  return {
    acquire: async ({ command, signal }) => {
      const holder = `\`sightline ${command}\` on ${hostname()} (process ${process.pid})`;
      const now = clock.now();
      // If the home was emptied, its positions start again, although later ones were recorded with published snapshots.
      const above = await withStore({ config, signal }, async (store) => {
        const { readFence } = await import('../publish/lake/fence.ts');
        return readFence(store);
      });
      const work = { do: 'take', holder, task, now, until: now + LEASE_MS, above: above ?? 0 } as const;
      const result = await atHome(config, work, signal);
      if ('taken' in result) {
        const { holder: other, until } = result.taken;
        const message = `workspace ${config.name} in destination ${config.home} is in use by ${other} until ${until}`;
        throw new SightlineError('warehouse_locked', message);
      }
      const { position, before } = result;
      const lease = createLease(parts, position);
      try {
        await makeEqual(config, before, signal);
        await withStore({ config, signal }, async (store) => {
          const { raiseFence } = await import('../publish/lake/fence.ts');
          await raiseFence(store, position, clock, signal);
        });
      } catch (thrown) {
        await lease.abandon();
        throw thrown;
      }
      return lease.start();
    },
  };
}

function createLease({ config, clock }: HomeDriverParts, position: number) {
  const lost = new AbortController();
  const ended = new AbortController();
  // One child at a time, because each writes the state of the workspace; and one of opening, closing and reading the warehouse at a time.
  const calls = new PQueue({ concurrency: 1 });
  const turns = new PQueue({ concurrency: 1 });
  let until = clock.now() + LEASE_MS;
  let alone: Alone | null = null;
  let saves = 0;

  const call = (files: Extract<HomeWork, { do: 'save' }>['files'], isLast: boolean, onStaged: () => void) =>
    calls.add(async () => {
      lost.signal.throwIfAborted();
      const now = clock.now();
      const next = isLast ? null : now + LEASE_MS;
      const work = { do: 'save', position, files, now, until: next } as const;
      const saved = await atHome(config, work, lost.signal, onStaged);
      if (saved === null) lost.abort(leaseLost(config, 'another process took it over'));
      lost.signal.throwIfAborted();
      until = now + LEASE_MS;
      if (files !== null && saved !== null) await writeMark(config, saved.savedAt);
    });
  // Resolves when the home has the data; the warehouse can be used as soon as its file is read.
  const saveFiles = async (isLast: boolean): Promise<void> => {
    let done: Promise<unknown> = Promise.resolve();
    const read = (): Promise<void> =>
      new Promise((staged) => {
        done = call(keptFiles(config.folder), isLast, staged).finally(staged);
        done.catch(() => undefined);
      });
    await turns.add(() => (alone === null ? read() : alone(read)));
    await done;
  };
  const save = async (): Promise<void> => {
    saves += 1;
    await saveFiles(false).finally(() => {
      saves -= 1;
    });
  };
  const keepLease = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(SAVE_MS, ended.signal, 'background');
      // A save may wait for a long statement; the lease must not.
      const attempt = saves > 0 ? call(null, false, () => undefined) : save();
      attempt.catch(() => {
        if (clock.now() > until) lost.abort(leaseLost(config, 'it was not renewed in time'));
      });
    }
  };
  const release = async (): Promise<void> => {
    ended.abort();
    for (let attempt = 1; ; attempt++) {
      lost.signal.throwIfAborted();
      try {
        return await saveFiles(true);
      } catch (thrown) {
        if (lost.signal.aborted || attempt === ATTEMPTS) throw thrown;
        await clock.sleep(RETRY_MS, lost.signal, 'background');
      }
    }
  };
  return {
    abandon: () => call(null, true, () => undefined).catch(() => undefined),
    start: (): HomeGrant => {
      void keepLease().catch(() => undefined);
      const open: LeasedHome['open'] = (work, aloneOf) =>
        turns.add(async () => {
          const opened = await work();
          alone = aloneOf(opened);
          return opened;
        });
      const close: LeasedHome['close'] = (work) =>
        turns.add(async () => {
          alone = null;
          await work();
        });
      return { epoch: position, lost: lost.signal, home: { save, open, close }, release: once(release) };
    },
  };
}

function leaseLost({ name, home }: HomeConfig, why: string): SightlineError {
  return new SightlineError('lease_lost', `the lease on workspace ${name} in destination ${home} is lost: ${why}`);
}
