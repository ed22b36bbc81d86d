import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { type Grant, neverLost, once, type SessionDriver, type SessionRequest } from './driver.ts';

/** The uses of workspaces by one process: its sessions, one at a time per workspace, and the workspaces that it owns. */
export interface ProcessSessions extends SessionDriver {
  /** Whether work of this process has a session in a workspace, or is entering or leaving one. */
  isInUse(folder: string): boolean;
  /** Whether work of this process has entered a session in a workspace, so that the files there are current. */
  isEntered(folder: string): boolean;
  /** Marks the session in a workspace as entered, once all drivers have granted it. */
  setEntered(folder: string): void;
  /**
   * Declares that this process serves a workspace, so its sessions may open the live file at any moment. Readers in this process
   * then use the replica, because DuckDB opens a file once per process. Returns a function that ends the declaration.
   */
  setServed(folder: string): () => void;
  isServed(folder: string): boolean;
}

interface Holder {
  readonly request: SessionRequest;
  /** ISO 8601. */
  readonly since: string;
  isEntered: boolean;
}

interface Queue {
  holder: Holder;
  /** First come, first served. */
  readonly waiting: { readonly request: SessionRequest; readonly grant: () => void }[];
}

/** Creates the record of one process. Tests create one per simulated process. */
export function createProcessSessions(): ProcessSessions {
  const queues = new Map<string, Queue>();
  const served = new Map<string, number>();
  const grantOf = (key: string): Grant => ({
    lost: neverLost(),
    epoch: null,
    release: once(() => {
      const queue = queues.get(key) as Queue;
      const next = queue.waiting.shift();
      if (next === undefined) queues.delete(key);
      else {
        queue.holder = holderOf(next.request);
        next.grant();
      }
    }),
  });
  return {
    acquire: async (request) => {
      const key = keyOf(request.folder);
      const queue = queues.get(key);
      if (queue === undefined) {
        queues.set(key, { holder: holderOf(request), waiting: [] });
        return grantOf(key);
      }
      if (request.mode === 'refuse') throw inUse(queue.holder);
      await waitIn(queue, request);
      return grantOf(key);
    },
    isInUse: (folder) => queues.has(keyOf(folder)),
    isEntered: (folder) => queues.get(keyOf(folder))?.holder.isEntered === true,
    setEntered: (folder) => {
      (queues.get(keyOf(folder)) as Queue).holder.isEntered = true;
    },
    setServed: (folder) => {
      const key = keyOf(folder);
      served.set(key, (served.get(key) ?? 0) + 1);
      return () => {
        const left = (served.get(key) ?? 0) - 1;
        if (left > 0) served.set(key, left);
        else served.delete(key);
      };
    },
    isServed: (folder) => served.has(keyOf(folder)),
  };
}

/** The record of this process: the only mutable state of the sessions that is not passed in, because DuckDB's locks are per process. */
export const thisProcess = createProcessSessions();

function waitIn({ waiting, holder }: Queue, request: SessionRequest): Promise<void> {
  const { signal, onWait } = request;
  return new Promise((grant, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const waiter = {
      request,
      grant: (): void => {
        signal.removeEventListener('abort', abort);
        grant();
      },
    };
    const abort = (): void => {
      waiting.splice(waiting.indexOf(waiter), 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    waiting.push(waiter);
    onWait(holder.request.description, waiting.length - 1);
  });
}

function holderOf(request: SessionRequest): Holder {
  return { request, since: new Date(systemClock.now()).toISOString(), isEntered: false };
}

function inUse({ request: { folder, command }, since }: Holder): SightlineError {
  const holder = `\`sightline ${command}\` (process ${process.pid}, since ${since})`;
  return new SightlineError('warehouse_locked', `the workspace in ${folder} is in use by ${holder}`);
}

// The same for all paths of a folder, which need not exist yet.
function keyOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const path = resolve(folder);
    return path === dirname(path) ? path : join(keyOf(dirname(path)), basename(path));
  }
}
