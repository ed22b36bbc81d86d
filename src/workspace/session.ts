import type { Clock } from '../base/clock.ts';
import type { Grant, Mode, SessionDriver, SessionRequest } from './driver.ts';
import { createHomeDriver, type HomeDriverParts, type LeasedHome } from './home-driver.ts';
import { fileLock } from './lock-driver.ts';
import { thisProcess } from './process-driver.ts';

/** The exclusive right to write to one workspace, from entering until the work has ended. */
export interface Session {
  readonly folder: string;
  /** Fencing token of the lease on the home; null if the workspace has none. */
  readonly epoch: number | null;
  /** Aborted with `lease_lost` when another machine has taken the lease. */
  readonly lost: AbortSignal;
  /** Null if the workspace has none. */
  readonly home: LeasedHome | null;
  /** False once the work has ended. */
  readonly isOpen: boolean;
}

/** The part of a command's context that a session needs. */
export interface SessionContext {
  readonly config: HomeDriverParts['config'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The command of this process, shown to other processes that have to wait. Without the program's name. */
  readonly command: string;
  /** Shown to waiting work of this process instead of the command, such as `job nightly`. */
  readonly description?: string;
  /** Called with a description of the holder if the workspace has to be waited for, and the number of processes that wait already. */
  readonly onWait?: (holder: string, ahead: number) => void;
  /** ID of the queue task that the work performs. A retry of the task takes over the lease at once. */
  readonly task?: string | null;
  /** The session that the work is in. Nested calls join it. */
  readonly session?: Session;
}

/**
 * Runs the work with the exclusive right to write to a workspace, and ends the right when the work has ended, even if it throws.
 * If the context has a session, joins it in either mode. Otherwise takes the right from the process, lock and home drivers, in this
 * order; a workspace without a home needs no home driver. The context passed to the work has the session, and a signal that is also
 * aborted when the right is lost.
 *
 * @throws `warehouse_locked` with the holder if the workspace is in use and cannot be waited for, `destination_failed`, `home_conflict`, and `lease_lost`,
 * which replaces the result.
 * @example
 * await withSession(context, 'wait', async (inside) => {
 *   const snapshot = await withWarehouse(inside, { memoryLimitMb: 320 }, writeSnapshot);
 *   await publishSnapshot(inside, snapshot, onProgress);
 * });
 */
export async function withSession<C extends SessionContext, T>(
  context: C,
  mode: Mode,
  work: (inside: C & { readonly session: Session }) => Promise<T>,
): Promise<T> {
  const { session: outer, config } = context;
  if (outer?.isOpen === true && outer.folder === config.folder) return work({ ...context, session: outer });
  const { session, leave } = await enter(context, mode, true);
  const signal = session.epoch === null ? context.signal : AbortSignal.any([context.signal, session.lost]);
  const settled = await settle(() => work({ ...context, session, signal }));
  const left = await settle(leave);
  if ('error' in left && session.lost.aborted && left.error === session.lost.reason) throw left.error;
  if ('error' in settled) throw settled.error;
  if ('error' in left) throw left.error;
  return settled.value;
}

/** Runs the work like `withSession`, without the lease on the home: only for work that makes the folder equal to the home. */
export async function withFolder<C extends SessionContext, T>(
  context: C,
  work: (inside: C & { readonly session: Session }) => Promise<T>,
): Promise<T> {
  const { session, leave } = await enter(context, 'refuse', false);
  try {
    return await work({ ...context, session });
  } finally {
    await leave();
  }
}

async function enter(
  context: SessionContext,
  mode: Mode,
  leases: boolean,
): Promise<{ session: Session; leave: () => Promise<void> }> {
  const { config, clock, signal, command, task = null, onWait = () => undefined } = context;
  const { folder } = config;
  const description = context.description ?? `\`sightline ${command}\``;
  const request: SessionRequest = { folder, mode, command, description, signal, onWait };
  const held: Grant[] = [];
  const take = async <G extends Grant>(driver: SessionDriver<G>): Promise<G> => {
    const grant = await driver.acquire(request);
    held.unshift(grant);
    return grant;
  };
  try {
    await take(thisProcess);
    await take(fileLock);
    const leased = config.home === null || !leases ? null : await take(createHomeDriver({ config, clock, task }));
    thisProcess.setEntered(folder);
    let isOpen = true;
    const session: Session = {
      folder,
      epoch: leased?.epoch ?? null,
      lost: AbortSignal.any(held.map(({ lost }) => lost)),
      home: leased?.home ?? null,
      get isOpen() {
        return isOpen;
      },
    };
    const leave = async (): Promise<void> => {
      isOpen = false;
      await releaseAll(held);
    };
    return { session, leave };
  } catch (thrown) {
    await releaseAll(held).catch(() => undefined);
    throw thrown;
  }
}

// Releases every grant, the last one first, and throws the first error.
async function releaseAll(held: readonly Grant[]): Promise<void> {
  const ended: Settled<void>[] = [];
  for (const grant of held) ended.push(await settle(() => grant.release()));
  for (const one of ended) if ('error' in one) throw one.error;
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

async function settle<T>(work: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}
