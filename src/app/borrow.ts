import { SightlineError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { isOwnSocket } from './owner.ts';
import { readClaim } from './owner-claim.ts';
import { meetOwner } from './owner-client.ts';
import type { Greeting } from './owner-frames.ts';

/** Whether a process that serves the workspace may open its warehouse at any moment. Throws `owner_untrusted`. */
export async function isServed(folder: string): Promise<boolean> {
  const claim = await readClaim(folder);
  const met = claim === null ? null : await meetOwner(claim);
  met?.connection?.close();
  return met !== null;
}

/** What somebody who wants to work on a workspace's warehouse says of it. */
export interface BorrowRequest {
  readonly folder: string;
  /** The command, for what others are told. */
  readonly command: string;
  readonly signal: AbortSignal;
  /** Told what goes on, where it has to wait. */
  readonly onWait: (current: string) => void;
}

/**
 * Waits until the process that owns a workspace lends this one the warehouse, and returns a function that gives it back. Returns
 * at once if nobody owns it, or this process does. Throws `warehouse_locked` if the owner lends it to nobody or does not answer,
 * `owner_untrusted`, `interrupted` if the owner ends meanwhile, and the signal's reason.
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

/** The error of a command that needs a workspace which another process owns and does not share. */
export function refusal(folder: string, { command, pid, since, version }: Greeting, answers: boolean): SightlineError {
  const isOther = version !== VERSION;
  const other = isOther ? `, which is version ${version} and not ${VERSION}` : '';
  const silent = !answers && !isOther ? ', which does not answer' : '';
  const owner = `\`sightline ${command}\` (process ${pid}, since ${since})${other}${silent}`;
  return new SightlineError('warehouse_locked', `the workspace in ${folder} is in use by ${owner}`);
}
