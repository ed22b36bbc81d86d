import { systemClock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { type Grant, neverLost, once, type SessionDriver, type SessionRequest } from './driver.ts';
import { type MetOwner, meetOwner } from './owner-client.ts';
import { readOwnerRecord } from './owner-record.ts';
import { becomeOwner } from './owner-server.ts';
import type { ProcessSessions } from './process-driver.ts';
import type { Greeting } from './socket-frames.ts';

/**
 * Creates the driver that excludes other processes of this machine, for the process of `sessions`. With mode `refuse`, this process
 * becomes the owner of the workspace. With mode `wait`, it waits in the queue of the owner; if there is none, it only relies on
 * DuckDB's lock, which also works in folders without sockets.
 */
export function createSocketDriver(sessions: ProcessSessions): SessionDriver {
  return {
    acquire: (request) => (request.mode === 'refuse' ? own(request, sessions) : enter(request, sessions)),
  };
}

/** Whether a process owns the workspace and so may open its warehouse at any moment. Throws `owner_untrusted`. */
export async function isServed(folder: string): Promise<boolean> {
  const met = await findOwner(folder);
  met?.connection?.close();
  return met !== null;
}

/** Connects to the owner of a workspace; null if there is none. Throws `owner_untrusted`. */
export async function findOwner(folder: string): Promise<MetOwner | null> {
  const record = await readOwnerRecord(folder);
  return record === null ? null : meetOwner(record);
}

/** Whether an owner runs commands for this process and lets it wait. A process of another version may have another protocol. */
export function servesThisVersion({ serves, version }: Greeting): boolean {
  return serves && version === VERSION;
}

/** The error for a workspace that another process owns and does not share. `responds` is whether that process responded. */
export function ownedByOther(
  folder: string,
  { command, pid, since, version }: Greeting,
  responds: boolean,
): SightlineError {
  const isOther = version !== VERSION;
  const other = isOther ? `, which is version ${version} and not ${VERSION}` : '';
  const silent = !responds && !isOther ? ', which does not respond' : '';
  const owner = `\`sightline ${command}\` (process ${pid}, since ${since})${other}${silent}`;
  return new SightlineError('warehouse_locked', `the workspace in ${folder} is in use by ${owner}`);
}

// Throws `folder_unwritable` and `owner_untrusted`.
async function own({ folder, command }: SessionRequest, sessions: ProcessSessions): Promise<Grant> {
  const since = new Date(systemClock.now()).toISOString();
  const ownership = await becomeOwner({ folder, command, since, run: null, sessions });
  if (!ownership.isOurs) throw ownedByOther(folder, ownership.owner, ownership.responds);
  return { lost: neverLost(), epoch: null, release: once(ownership.release) };
}

// Throws `interrupted` if the owner ends while this process waits. If it ends later, DuckDB's lock still excludes other writers.
async function enter(request: SessionRequest, sessions: ProcessSessions): Promise<Grant> {
  const { folder, command, signal, onWait } = request;
  const record = await readOwnerRecord(folder);
  const free: Grant = { lost: neverLost(), epoch: null, release: once(() => undefined) };
  if (record === null || sessions.isListening(record.socket)) return free;
  const met = await meetOwner(record);
  if (met === null) return free;
  const { greeting, connection } = met;
  if (connection === null || !servesThisVersion(greeting)) {
    connection?.close();
    throw ownedByOther(folder, greeting, connection !== null);
  }
  await connection.enter(command, onWait, signal);
  return { ...free, release: once(connection.close) };
}
