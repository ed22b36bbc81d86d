/**
 * Reaction of a session to a workspace that is in use. `wait`: waits in the queues of this process and of the workspace; for single
 * commands. `refuse`: throws `warehouse_locked` at once; for jobs, which come again.
 */
export type Mode = 'wait' | 'refuse';

/** A request for the right to write to a workspace. */
export interface SessionRequest {
  readonly folder: string;
  readonly mode: Mode;
  /** The command of this process, shown to other processes. Without the program's name. */
  readonly command: string;
  /** Description of the work, such as `job nightly`, shown to other work of this process that waits for it. */
  readonly description: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called with a description of the holder if the request has to wait in a queue, and the number of requests before it there. */
  readonly onWait: (holder: string, ahead: number) => void;
}

/** The right to write, until it is released. */
export interface Grant {
  /** Aborted with `lease_lost` if the right is lost before it is released. Never aborted if the driver's right cannot be lost. */
  readonly lost: AbortSignal;
  /** Fencing token, which grows with each grant; null if the driver's right cannot be lost. */
  readonly epoch: number | null;
  /** Releases the right. Further calls have no effect and return the same promise. */
  release(): Promise<void>;
}

/**
 * One way to exclude other writers. The process driver excludes work of this process, the lock driver other processes with this
 * folder, and the store driver other machines.
 */
export interface SessionDriver<G extends Grant = Grant> {
  /** Throws `warehouse_locked` with the holder if the request is refused, or the signal's reason while it waits. */
  acquire(request: SessionRequest): Promise<G>;
}

/** The `lost` signal of a right that cannot be lost. */
export function neverLost(): AbortSignal {
  return new AbortController().signal;
}

/** Returns a function that runs `release` at its first call and returns the same promise at each call. */
export function once(release: () => Promise<void> | void): () => Promise<void> {
  let released: Promise<void> | null = null;
  return () => {
    released ??= (async () => release())();
    return released;
  };
}
