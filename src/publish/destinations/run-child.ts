import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SightlineError } from '../../base/errors.ts';
import type { HomeRequest, HomeResults, HomeWork } from './home-protocol.ts';
import { type ChildReply, CONFLICT, type Loaded, type LoadRequest } from './load-protocol.ts';

// Tests import this file from src, but the child is always the built file, because plain Node cannot run TypeScript.
const CHILD = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/src/publish/destinations/load-child.js' : './load-child.js',
    import.meta.url,
  ),
);
/** A first load of 658,000 rows takes less than a minute. */
const LIMIT_MS = 2 * 60 * 60_000;
/** Attempts of work on a home while others use the destination, and the first wait between them. */
const ATTEMPTS = 6;
const RETRY_MS = 150;

/**
 * Loads a replica into a destination in a child process.
 *
 * @throws `destination_failed`, `destination_newer`, `extension_missing`, and the signal's reason; nothing is written then
 */
export function runLoad(request: LoadRequest, signal: AbortSignal, onTable: (done: number) => void): Promise<Loaded> {
  return runChild<Loaded>(request, signal, { onTable });
}

/**
 * Works on the home of a workspace in a child process. Calls `onStaged` when a save has read its files, which nothing may write to before.
 *
 * @throws `destination_failed`, `extension_missing`, and the signal's reason; nothing is written then
 */
export async function runAtHome<W extends HomeWork>(
  request: HomeRequest & { readonly home: W },
  signal: AbortSignal,
  onStaged: () => void = () => undefined,
): Promise<HomeResults[W['do']]> {
  let isStaged = false;
  const staged = (): void => {
    isStaged = true;
    onStaged();
  };
  for (let attempt = 1; ; attempt++) {
    try {
      return await runChild<HomeResults[W['do']]>(request, signal, { onStaged: staged });
    } catch (thrown) {
      // The files of a save may change once they are read.
      const isPassing = !isStaged && thrown instanceof SightlineError && thrown.message.startsWith(CONFLICT);
      if (!isPassing || attempt === ATTEMPTS) throw thrown;
      await delay(RETRY_MS * 2 ** attempt * (0.5 + Math.random()), undefined, { signal });
    }
  }
}

interface Handlers {
  readonly onTable?: (done: number) => void;
  readonly onStaged?: () => void;
}

function runChild<T>(request: LoadRequest | HomeRequest, signal: AbortSignal, handlers: Handlers): Promise<T> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [CHILD], {
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    let stopped: unknown = null;
    // The promise is rejected when the process has ended, because it may lock a file until then.
    const stop = (reason: unknown): void => {
      stopped = reason;
      child.kill('SIGKILL');
    };
    const onAbort = (): void => stop(signal.reason);
    const limit = setTimeout(
      () =>
        stop(
          new SightlineError(
            'destination_failed',
            `the work on the destination was stopped after ${LIMIT_MS / 60_000} minutes`,
          ),
        ),
      LIMIT_MS,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    child.on('message', (reply: ChildReply<T>) => {
      if (reply.kind === 'progress') return handlers.onTable?.(reply.done);
      if (reply.kind === 'staged') return handlers.onStaged?.();
      if (reply.kind === 'done') return resolve(reply.result);
      reject(new SightlineError(reply.code, reply.message));
    });
    child.on('error', reject);
    child.on('exit', (code, killed) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', onAbort);
      const message = `the process that works on the destination ended with ${killed ?? code}`;
      reject(stopped ?? new SightlineError('destination_failed', message));
    });
    child.send(request, (error) => {
      if (error !== null) reject(error);
    });
  });
}
