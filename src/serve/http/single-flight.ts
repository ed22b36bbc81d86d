import { SightlineError } from '../../base/errors.ts';

/** Single-flight: identical concurrent requests share one computation. */
export interface SingleFlight<T> {
  /**
   * Waits for the computation with this name and starts it if necessary. Aborting `client` rejects only this wait, with
   * the signal's reason; a computation without waiting clients is aborted.
   *
   * @throws SightlineError `overloaded` if too many computations are running
   */
  join(name: string, client: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Number of computations in progress, including aborted ones that have not ended. */
  readonly running: number;
  /** Number of waiting clients. */
  readonly waiting: number;
}

interface Computation<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  clients: number;
}

/** Creates an empty set that allows `runningMax` concurrent computations. */
export function createSingleFlight<T>(runningMax: number): SingleFlight<T> {
  const computations = new Map<string, Computation<T>>();
  let running = 0;
  let waiting = 0;
  const forget = (name: string, computation: Computation<T>): void => {
    if (computations.get(name) === computation) computations.delete(name);
  };
  const begin = (name: string, start: (signal: AbortSignal) => Promise<T>): Computation<T> => {
    if (running >= runningMax) {
      throw new SightlineError('overloaded', `${runningMax} responses are being computed; allowed: ${runningMax}`);
    }
    running += 1;
    const controller = new AbortController();
    const result = start(controller.signal).finally(() => {
      running -= 1;
      forget(name, computation);
    });
    // If all clients have left, nothing else handles the rejection.
    result.catch(() => undefined);
    const computation: Computation<T> = { result, controller, clients: 0 };
    computations.set(name, computation);
    return computation;
  };
  const join = (name: string, client: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    if (client.aborted) return Promise.reject(client.reason);
    let computation: Computation<T>;
    try {
      computation = computations.get(name) ?? begin(name, start);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    computation.clients += 1;
    waiting += 1;
    return new Promise<T>((resolve, reject) => {
      const stopWaiting = (): void => {
        client.removeEventListener('abort', leave);
        computation.clients -= 1;
        waiting -= 1;
      };
      const leave = (): void => {
        stopWaiting();
        reject(client.reason);
        if (computation.clients > 0) return;
        // The aborted computation will not produce a result, so the next request must start a new one.
        forget(name, computation);
        computation.controller.abort(client.reason);
      };
      client.addEventListener('abort', leave);
      computation.result.then(
        (value) => {
          if (client.aborted) return;
          stopWaiting();
          resolve(value);
        },
        (thrown) => {
          if (client.aborted) return;
          stopWaiting();
          reject(thrown);
        },
      );
    });
  };
  return {
    join,
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
  };
}
