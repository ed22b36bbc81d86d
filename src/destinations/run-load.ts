import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SightlineError } from '../base/errors.ts';
import type { LoadReply, LoadRequest } from './load-protocol.ts';
import type { LoadedTable } from './load-tables.ts';

// Tests import this file from src, but the child is always the built file, because plain Node cannot run TypeScript.
const CHILD = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/src/destinations/load-child.js' : './load-child.js',
    import.meta.url,
  ),
);
/** A first load of 658,000 rows takes less than a minute. */
const LIMIT_MS = 2 * 60 * 60_000;

/**
 * Loads a replica into a destination in a child process. Returns the tables, or null if nothing has changed since the load before.
 *
 * @throws `destination_failed`, `destination_newer`, `extension_missing`, and the signal's reason; nothing is written then
 */
export function runLoad(
  request: LoadRequest,
  signal: AbortSignal,
  onTable: (done: number) => void,
): Promise<readonly LoadedTable[] | null> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [CHILD], {
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    const stop = (reason: unknown): void => {
      reject(reason);
      child.kill('SIGKILL');
    };
    const onAbort = (): void => stop(signal.reason);
    const limit = setTimeout(
      () => stop(new SightlineError('destination_failed', `the load was stopped after ${LIMIT_MS / 60_000} minutes`)),
      LIMIT_MS,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    child.on('message', (reply: LoadReply) => {
      if (reply.kind === 'progress') return onTable(reply.done);
      if (reply.kind === 'done') return resolve(reply.tables);
      reject(new SightlineError(reply.code, reply.message));
    });
    child.on('error', reject);
    child.on('exit', (code, killed) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', onAbort);
      reject(new SightlineError('destination_failed', `the process of the load ended with ${killed ?? code}`));
    });
    child.send(request, (error) => {
      if (error !== null) reject(error);
    });
  });
}
