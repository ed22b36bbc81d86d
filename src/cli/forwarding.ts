import { resolve } from 'node:path';
import { ownSettings } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { DigestSetting } from '../session/handshake.ts';
import { findOwner, ownedByOther, servesThisVersion } from '../session/socket-driver.ts';
import type { ForwardedCommand, Greeting } from '../session/socket-frames.ts';
import { readConfig, readSurroundings } from './context.ts';
import type { ForwardableCommand } from './invocation.ts';
import { terminal } from './output/terminal.ts';

/**
 * Forwards a command line to the process that owns the workspace, which runs it with its own settings. Prints the output here and
 * returns the exit code. Returns null if no process owns the workspace, or if the command needs no warehouse and the owner cannot run it.
 *
 * @throws `warehouse_locked` if the owner runs no commands for others, `owner_untrusted`, and `config_invalid` if a setting
 * differs.
 */
export async function forwardToOwner(
  argv: readonly string[],
  { flags, needsWarehouse }: ForwardableCommand,
  signal: AbortSignal,
): Promise<number | null> {
  const { folder } = readConfig(flags);
  const met = await findOwner(folder);
  if (met === null) return null;
  const { greeting, connection } = met;
  if (connection === null || !servesThisVersion(greeting)) {
    connection?.close();
    if (needsWarehouse) throw ownedByOther(folder, greeting, connection !== null);
    return null;
  }
  const { stdout, stderr } = terminal();
  const ended = await connection.run(
    toForwarded(argv, connection.digest),
    (stream, bytes) => (stream === 'stdout' ? stdout : stderr).write(bytes),
    signal,
  );
  if (typeof ended === 'number') return ended;
  if (needsWarehouse) throw differing(ended.differs, greeting);
  return null;
}

function differing(names: readonly string[], { command, pid }: Greeting): SightlineError {
  const owner = `\`sightline ${command}\` (process ${pid})`;
  const what = `${names.join(', ')} ${names.length === 1 ? 'differs' : 'differ'} from the settings of ${owner}, which runs the commands on this workspace`;
  return new SightlineError(
    'config_invalid',
    `${what}; restart it with the same settings, or run the command without them`,
  );
}

function toForwarded(argv: readonly string[], digest: DigestSetting): ForwardedCommand {
  const { stdout, stderr, timeZone, folder } = terminal();
  const sizeOf = ({ isTTY = false, columns }: typeof stdout) => ({ isTTY, columns: columns ?? null });
  const settings = Object.entries(ownSettings(readSurroundings())).map(([name, value]) => [name, digest(name, value)]);
  return {
    arguments: withAbsoluteDataDir(argv, folder),
    settings: Object.fromEntries(settings),
    timeZone,
    stdout: sizeOf(stdout),
    stderr: sizeOf(stderr),
  };
}

// The owner's current directory differs from the user's, so make the path absolute.
function withAbsoluteDataDir(argv: readonly string[], folder: string): string[] {
  const flag = '--data-dir';
  return argv.map((word, index) => {
    if (argv[index - 1] === flag) return resolve(folder, word);
    return word.startsWith(`${flag}=`) ? `${flag}=${resolve(folder, word.slice(flag.length + 1))}` : word;
  });
}
