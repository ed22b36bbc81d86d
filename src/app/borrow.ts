import { SightlineError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { isOwnSocket, readClaim } from './owner.ts';
import { connectOwner, greet } from './owner-client.ts';
import type { Greeting } from './owner-frames.ts';

/** Whether a process that serves the workspace may open its warehouse at any moment. */
export async function isServed(folder: string): Promise<boolean> {
  const socket = await readClaim(folder);
  return socket !== null && (await greet(socket)) !== null;
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
 * Waits until the process that owns a workspace lets this one have the warehouse, and gives a function that returns it;
 * at once where nobody owns it, or this process does. Throws `warehouse_locked` where the owner lets nobody in,
 * `interrupted` when it ends meanwhile, and the signal's reason.
 */
export async function borrowWarehouse({ folder, command, signal, onWait }: BorrowRequest): Promise<() => void> {
  const socket = await readClaim(folder);
  if (socket === null || isOwnSocket(socket)) return () => undefined;
  const connection = await connectOwner(socket);
  if (connection === null) return () => undefined;
  const { greeting } = connection;
  if (!greeting.carries || greeting.version !== VERSION) {
    connection.close();
    throw refusal(folder, greeting);
  }
  await connection.borrow(command, onWait, signal);
  return connection.close;
}

/** The error of a command that needs a workspace while another process owns it and lets nobody in. */
export function refusal(folder: string, { command, pid, since, version }: Greeting): SightlineError {
  const other = version === VERSION ? '' : `, which is version ${version} and not ${VERSION}`;
  const owner = `\`sightline ${command}\` (process ${pid}, since ${since})${other}`;
  return new SightlineError('warehouse_locked', `the workspace in ${folder} is in use by ${owner}`);
}
