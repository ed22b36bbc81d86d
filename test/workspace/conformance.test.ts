import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import type { Grant, Mode, SessionDriver, SessionRequest } from '../../src/workspace/driver.ts';
import { createHomeDriver } from '../../src/workspace/home-driver.ts';
import { fileLock } from '../../src/workspace/lock-driver.ts';
import { createProcessSessions, thisProcess } from '../../src/workspace/process-driver.ts';
import { type SessionContext, withSession } from '../../src/workspace/session.ts';
import { startChild } from '../support/child.ts';
import { temporaryFolder } from '../support/folders.ts';

/** A workspace whose participants exclude each other by one driver. */
interface Rig {
  readonly mode: Mode;
  /** Whether each right has a higher epoch than those before it; others have none. */
  readonly hasEpochs: boolean;
  /** Whether a request waits for the holder. Otherwise it is refused. */
  readonly hasQueue: boolean;
  readonly folder: string;
  /** The driver of another participant: work of this process, a process or a machine. */
  participant(): Promise<SessionDriver>;
  /** Starts a participant that dies while it has the right, and returns the driver of a participant that comes later. */
  afterDeath(): Promise<SessionDriver>;
  /** A context whose sessions take the right from this driver, too. */
  context(command: string): SessionContext;
  /** Gives the right to another participant while its holder is alive; null if a right of this driver cannot be lost. */
  readonly takeAway: (() => Promise<void>) | null;
}

async function contextIn(folder: string, clock: Clock = systemClock): Promise<(command: string) => SessionContext> {
  const config = loadConfig({ flags: {}, environment: {}, folder });
  return (command) => ({ config, clock, signal: new AbortController().signal, command });
}

async function openLocal(
  mode: Mode,
  driver: SessionDriver,
  afterDeath: (at: Pick<Rig, 'folder' | 'mode'>) => Promise<SessionDriver>,
): Promise<Rig> {
  const context = await contextIn(await temporaryFolder());
  const { folder } = context('').config;
  // Work that only reads does not wait for a folder that does not exist.
  await mkdir(folder, { recursive: true });
  const participant = async () => driver;
  const none = { hasEpochs: false, takeAway: null };
  return {
    ...none,
    mode,
    hasQueue: mode === 'wait',
    folder,
    context,
    participant,
    afterDeath: () => afterDeath({ folder, mode }),
  };
}

const openProcess = (mode: Mode): Promise<Rig> =>
  openLocal(mode, thisProcess, async (at) => {
    await createProcessSessions().acquire(requestOf(at, 'killed'));
    return createProcessSessions();
  });

const openLock = (mode: Mode): Promise<Rig> =>
  openLocal(mode, fileLock, async ({ folder }) => {
    const child = startChild(new URL('session-child.ts', import.meta.url), folder, mode);
    expect(await child.message()).toBe('entered');
    await child.kill();
    return fileLock;
  });

async function openHome(): Promise<Rig> {
  const path = join(await temporaryFolder(), 'home.duckdb');
  const destinations = { h: { kind: 'duckdb', path } };
  const machine = async (clock: Clock) => {
    const at = await temporaryFolder();
    await writeFile(join(at, 'sightline.config.json'), JSON.stringify({ home: 'h', destinations }));
    return contextIn(at, clock);
  };
  // Nobody renews a lease unless a test does, and a later machine has a later clock.
  let minutes = 0;
  const { clock, tick } = manualClock();
  const context = await machine(clock);
  const { folder } = context('').config;
  const driverAt = async (now: () => number): Promise<SessionDriver> => {
    const { config } = (await machine(clock))('');
    return createHomeDriver({ config, clock: { ...manualClock().clock, now }, task: null });
  };
  const participant = () => driverAt(() => Date.now() + minutes * 60_000);
  const afterDeath = async (): Promise<SessionDriver> => {
    await (await participant()).acquire(requestOf({ folder, mode: 'wait' }, 'killed'));
    minutes += 10;
    return participant();
  };
  const takeAway = async (): Promise<void> => {
    minutes += 10;
    const grant = await (await participant()).acquire(requestOf({ folder, mode: 'wait' }, 'thief'));
    onTestFinished(grant.release);
    tick();
  };
  return { mode: 'wait', hasEpochs: true, hasQueue: false, folder, participant, afterDeath, context, takeAway };
}

/** A clock whose sleeps end at the next call of `tick`. */
function manualClock(): { clock: Clock; tick: () => void } {
  let sleepers: (() => void)[] = [];
  const sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      sleepers.push(resolve);
    });
  const tick = (): void => {
    const due = sleepers;
    sleepers = [];
    for (const end of due) end();
  };
  return { clock: { ...systemClock, sleep }, tick };
}

function requestOf(
  { folder, mode }: Pick<Rig, 'folder' | 'mode'>,
  command: string,
  changes: Partial<SessionRequest> = {},
): SessionRequest {
  const description = `\`sightline ${command}\``;
  const signal = new AbortController().signal;
  return { folder, mode, command, description, signal, onWait: () => undefined, ...changes };
}

/** A request in the queue, after its driver has named the holder. */
interface Waiting {
  readonly holder: string;
  readonly granted: Promise<Grant>;
}

/** Requests the right that another participant has, and resolves when the request waits. */
async function waitIn(rig: Rig, command: string, signal = new AbortController().signal): Promise<Waiting> {
  const driver = await rig.participant();
  let granted: Promise<Grant> | null = null;
  const holder = await new Promise<string>((onWait, reject) => {
    granted = driver.acquire(requestOf(rig, command, { signal, onWait }));
    granted.then(() => reject(new Error(`${command} was granted the right of another`)), reject);
  });
  return { holder, granted: granted as unknown as Promise<Grant> };
}

async function expectRefused(rig: Rig, command: string): Promise<void> {
  const refused = (await rig.participant()).acquire(requestOf(rig, 'another'));
  await expect(refused).rejects.toMatchObject({
    code: 'warehouse_locked',
    message: expect.stringContaining(`\`sightline ${command}\``),
  });
}

/** Takes the right and releases it, which succeeds only if nobody has it. */
async function expectFree(rig: Rig, driver?: SessionDriver): Promise<void> {
  const onWait = (holder: string): void => expect.fail(`${holder} still has the right`);
  const grant = await (driver ?? (await rig.participant())).acquire(requestOf(rig, 'next', { onWait }));
  await grant.release();
}

/** Fails unless a participant with this command has the right. */
async function expectHeldBy(rig: Rig, command: string): Promise<void> {
  if (!rig.hasQueue) return expectRefused(rig, command);
  const stop = new AbortController();
  const { holder, granted } = await waitIn(rig, 'another', stop.signal);
  stop.abort(new Error('stopped'));
  await expect(granted).rejects.toThrow('stopped');
  expect(holder).toBe(`\`sightline ${command}\``);
}

const rigs: Readonly<Record<string, { readonly open: () => Promise<Rig>; readonly hasQueue: boolean }>> = {
  'process driver, waiting': { open: () => openProcess('wait'), hasQueue: true },
  'process driver, refusing': { open: () => openProcess('refuse'), hasQueue: false },
  'lock driver, waiting': { open: () => openLock('wait'), hasQueue: true },
  'lock driver, refusing': { open: () => openLock('refuse'), hasQueue: false },
  'home driver': { open: openHome, hasQueue: false },
};

describe.each(Object.entries(rigs))('the %s', (_title, { open, hasQueue }) => {
  test('grants the right to one participant at a time, names the holder to others, and ignores a second release', async () => {
    const rig = await open();
    const first = await (await rig.participant()).acquire(requestOf(rig, 'first'));
    await expectHeldBy(rig, 'first');
    await first.release();
    const second = await (await rig.participant()).acquire(requestOf(rig, 'second'));
    await first.release();
    await expectHeldBy(rig, 'second');
    await second.release();
    await second.release();
    await expectFree(rig);
  });

  if (hasQueue) {
    test('grants the right in the order of the requests', async () => {
      const rig = await open();
      let holder = await (await rig.participant()).acquire(requestOf(rig, 'first'));
      const waiting = [await waitIn(rig, 'second'), await waitIn(rig, 'third'), await waitIn(rig, 'fourth')];
      const order: number[] = [];
      waiting.forEach(({ granted }, index) => void granted.then(() => order.push(index)));
      for (const { granted } of waiting) {
        await holder.release();
        holder = await granted;
      }
      await holder.release();
      expect(order).toEqual([0, 1, 2]);
    });

    test('removes an aborted request from its queue', async () => {
      const rig = await open();
      const first = await (await rig.participant()).acquire(requestOf(rig, 'first'));
      const stop = new AbortController();
      const second = await waitIn(rig, 'second', stop.signal);
      const third = await waitIn(rig, 'third');
      stop.abort(new Error('no longer wanted'));
      await expect(second.granted).rejects.toThrow('no longer wanted');
      await first.release();
      await (await third.granted).release();
      await expectFree(rig);
    });
  }

  test('frees the right when its holder dies', async () => {
    const rig = await open();
    await expectFree(rig, await rig.afterDeath());
  });

  test('is asked once by sessions within a session, and has the right back when their work ends or throws', async () => {
    const rig = await open();
    const epochs: (number | null)[] = [];
    const work = withSession(rig.context('jobs run nightly'), rig.mode, async (outer) => {
      epochs.push(outer.session.epoch);
      for (const mode of ['wait', 'refuse'] as const) {
        await withSession({ ...outer, command: 'sync' }, mode, async ({ session }) =>
          expect(session).toBe(outer.session),
        );
      }
      await expectHeldBy(rig, 'jobs run nightly');
      throw new Error('the work failed');
    });
    await expect(work).rejects.toThrow('the work failed');
    await expectFree(rig);
    const ended = await withSession(rig.context('sync'), rig.mode, async (inside) => inside);
    // A context that outlives its session does not join it.
    await withSession({ ...ended, signal: new AbortController().signal }, rig.mode, async ({ session }) => {
      expect(session.isOpen).toBe(true);
      expect(ended.session.isOpen).toBe(false);
      epochs.push(ended.session.epoch, session.epoch);
    });
    // A participant of a home had the second epoch.
    expect(epochs).toEqual(rig.hasEpochs ? [1, 3, 4] : [null, null, null]);
  });

  test('aborts the signal of the work if the right is lost, and only then', async () => {
    const rig = await open();
    const { takeAway } = rig;
    const seen: AbortSignal[] = [];
    const work = withSession(rig.context('sync'), rig.mode, async ({ signal, session }) => {
      seen.push(signal);
      if (takeAway === null) return expectHeldBy(rig, 'sync');
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await takeAway();
      await aborted;
      expect(session.lost.reason).toBe(signal.reason);
      // The result of this work is replaced by the error.
    });
    if (takeAway === null) await work;
    else await expect(work).rejects.toMatchObject({ code: 'lease_lost' });
    expect(seen.map(({ aborted }) => aborted)).toEqual([takeAway !== null]);
  });
});
