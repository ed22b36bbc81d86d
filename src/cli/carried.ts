import { refusal } from '../app/borrow.ts';
import { readClaim } from '../app/owner.ts';
import { connectOwner } from '../app/owner-client.ts';
import type { Carried } from '../app/owner-frames.ts';
import { pickSettings } from '../base/config.ts';
import { VERSION } from '../base/version.ts';
import { readConfig, readSurroundings } from './context.ts';
import type { CarriedInvocation } from './invocation.ts';
import { terminal } from './terminal.ts';

/**
 * Has the process that owns the workspace carry out a command, with its words here, and gives the exit code; null where no
 * process owns it, or where it can be done beside its owner. Throws `warehouse_locked` where the owner lets nobody in.
 */
export async function askOwner(
  argv: readonly string[],
  { flags, needsWarehouse }: CarriedInvocation,
  signal: AbortSignal,
): Promise<number | null> {
  const { folder } = readConfig(flags);
  const socket = await readClaim(folder);
  const connection = socket === null ? null : await connectOwner(socket);
  if (connection === null) return null;
  const { greeting } = connection;
  if (greeting.carries && greeting.version === VERSION) {
    const { stdout, stderr } = terminal();
    return connection.carry(
      toCarried(argv),
      (stream, bytes) => (stream === 'stdout' ? stdout : stderr).write(bytes),
      signal,
    );
  }
  connection.close();
  if (needsWarehouse) throw refusal(folder, greeting);
  return null;
}

function toCarried(argv: readonly string[]): Carried {
  const { stdout, stderr, timeZone } = terminal();
  const surroundings = readSurroundings();
  const sizeOf = ({ isTTY = false, columns }: typeof stdout) => ({ isTTY, columns: columns ?? null });
  return {
    arguments: argv,
    folder: surroundings.folder,
    environment: pickSettings(surroundings),
    timeZone,
    stdout: sizeOf(stdout),
    stderr: sizeOf(stderr),
  };
}
