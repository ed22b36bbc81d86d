import { SightlineError } from '../../base/errors.ts';

/** Work under way, done once for all who want the same. */
export interface Flights<T> {
  /**
   * Waits for the work of this name, and starts it where nobody has. The client's signal ends its own waiting, with the
   * signal's reason; work that nobody waits for any more is aborted. Throws `overloaded` when too much is under way.
   */
  join(name: string, client: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** How much is under way, aborted work that has not ended included. */
  readonly running: number;
  /** How many wait for it. */
  readonly waiting: number;
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  clients: number;
}

/** Builds an empty set of flights, of which at most `runningMax` are in the air. */
export function createFlights<T>(runningMax: number): Flights<T> {
  const flights = new Map<string, Flight<T>>();
  let running = 0;
  let waiting = 0;
  const forget = (name: string, flight: Flight<T>): void => {
    if (flights.get(name) === flight) flights.delete(name);
  };
  const takeOff = (name: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    if (running >= runningMax) {
      throw new SightlineError('overloaded', `${runningMax} answers are being computed, as many as are allowed`);
    }
    running += 1;
    const controller = new AbortController();
    const result = start(controller.signal).finally(() => {
      running -= 1;
      forget(name, flight);
    });
    // Where everybody has left, nobody hears of its failure.
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
        // The next one to ask starts anew: what is being aborted will not answer.
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
