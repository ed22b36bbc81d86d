import { SightlineError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { meetOwner } from './owner-client.ts';
import { readClaim } from './owner-file.ts';
import { isOwnSocket } from './owner-server.ts';
import type { Greeting } from './socket-frames.ts';

/** Whether a process serves the workspace and so may open its warehouse at any moment. Throws `owner_untrusted`. */
export async function isServed(folder: string): Promise<boolean> {
  const claim = await readClaim(folder);
  const met = claim === null ? null : await meetOwner(claim);
  met?.connection?.close();
  return met !== null;
}

/** A request of this process to use a workspace's warehouse. */
export interface BorrowRequest {
  readonly folder: string;
  /** The command of this process, shown to other processes that have to wait. */
  readonly command: string;
  readonly signal: AbortSignal;
  /** Called with a description of the current holder if this process has to wait. */
  readonly onWait: (current: string) => void;
}

/**
 * Waits until the process that owns a workspace hands its warehouse to this process. Returns a function that hands it back.
 * Returns at once if no process owns the workspace, or if this process does.
 *
 * @throws `warehouse_locked` if the owner does not share the warehouse or does not respond, `owner_untrusted`, `interrupted`
 * if the owner ends while this process waits, and the signal's reason.
 */
export async function borrowWarehouse({ folder, command, signal, onWait }: BorrowRequest): Promise<() => void> {
  const claim = await readClaim(folder);
  if (claim === null || isOwnSocket(claim.socket)) return () => undefined;
  const met = await meetOwner(claim);
  if (met === null) return () => undefined;
  const { greeting, connection } = met;
  if (connection === null || !greeting.carries || greeting.version !== VERSION) {
    connection?.close();
    throw refusal(folder, greeting, connection !== null);
  }
  await connection.borrow(command, onWait, signal);
  return connection.close;
}

/** The error for a workspace that another process owns and does not share. `answers` is whether that process responded. */
export function refusal(folder: string, { command, pid, since, version }: Greeting, answers: boolean): SightlineError {
  const isOther = version !== VERSION;
  const other = isOther ? `, which is version ${version} and not ${VERSION}` : '';
  const silent = !answers && !isOther ? ', which does not respond' : '';
  const owner = `\`sightline ${command}\` (process ${pid}, since ${since})${other}${silent}`;
  return new SightlineError('warehouse_locked', `the workspace in ${folder} is in use by ${owner}`);
}
