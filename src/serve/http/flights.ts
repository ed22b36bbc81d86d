import { SightlineError } from '../../base/errors.ts';

/** Single-flight: identical concurrent requests share one computation. */
export interface Flights<T> {
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

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  clients: number;
}

/** Creates an empty set that allows `runningMax` concurrent computations. */
export function createFlights<T>(runningMax: number): Flights<T> {
  const flights = new Map<string, Flight<T>>();
  let running = 0;
  let waiting = 0;
  const forget = (name: string, flight: Flight<T>): void => {
    if (flights.get(name) === flight) flights.delete(name);
  };
  const takeOff = (name: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    if (running >= runningMax) {
      throw new SightlineError('overloaded', `${runningMax} responses are being computed; allowed: ${runningMax}`);
    }
    running += 1;
    const controller = new AbortController();
    const result = start(controller.signal).finally(() => {
      running -= 1;
      forget(name, flight);
    });
    // If all clients have left, nothing else handles the rejection.
    result.catch(() => undefined);
    const flight: Flight<T> = { result, controller, clients: 0 };
    flights.set(name, flight);
    return flight;
  };
  const join = (name: string, client: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    if (client.aborted) return Promise.reject(client.reason);
    let flight: Flight<T>;
    try {
      flight = flights.get(name) ?? takeOff(name, start);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    flight.clients += 1;
    waiting += 1;
    return new Promise<T>((resolve, reject) => {
      const stopWaiting = (): void => {
        client.removeEventListener('abort', leave);
        flight.clients -= 1;
        waiting -= 1;
      };
      const leave = (): void => {
        stopWaiting();
        reject(client.reason);
        if (flight.clients > 0) return;
        // The aborted computation will not produce a result, so the next request must start a new one.
        forget(name, flight);
        flight.controller.abort(client.reason);
      };
      client.addEventListener('abort', leave);
      flight.result.then(
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
