import { randomOf } from './random.ts';

const KINDS = {
  '429': 'rate limited, with Retry-After',
  '500': 'internal error, in the error envelope',
  '502': 'bad gateway, as an HTML page',
  '503': 'unavailable, with Retry-After for half of the requests',
  reset: 'connection reset before or during the response',
  hang: 'no response, ever',
  truncate: 'connection closed before the announced length',
  badjson: '200 with a body that is not JSON',
  norows: '200 with an object that lacks its rows',
  wrongtypes: 'some rows with a field of a wrong type or without their key',
  unknownfields: 'rows with undeclared fields',
  unknownenums: 'rows with undeclared labels',
  expiredcursor: '400 on a cursor',
  stuckcursor: 'nextCursor is the cursor that was sent',
  headinsert: 'during paging: a new row at the head of the list, and the last row of the previous page again',
  slowbody: 'a body sent slowly in small pieces',
} as const;

/** Kinds of faults. */
export type FaultKind = keyof typeof KINDS;

/** Every kind of fault, with a description for users. */
export const FAULT_KINDS: Readonly<Record<FaultKind, string>> = KINDS;

/** A fault to inject: into the first `times` matching requests, otherwise into each with `probability`. */
export interface Fault {
  readonly kind: FaultKind;
  /** 0 to 1; default 1 if `times` is not set. */
  readonly probability?: number;
  readonly times?: number;
  /** Only for requests whose path contains this text. */
  readonly match?: string;
  /** Value of Retry-After if the fault sends it; default 1. */
  readonly retryAfterSeconds?: number;
}

const FORM = /^([a-z0-9]+)(?:=([0-9.]+)(x?))?(?:@(\S+))?$/;

/**
 * Parses a list such as `429=0.02,500=3x,reset=0.01@/some/path`. `kind=0.02` is a probability, `kind=3x` a number of
 * times; `@` limits the fault to paths that contain the text after it.
 *
 * @throws RangeError naming the invalid part and what is allowed
 */
export function parseFaults(text: string): Fault[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseFault);
}

function parseFault(part: string): Fault {
  const fail = (allowed: string): never => {
    throw new RangeError(`fault ${JSON.stringify(part)}: ${allowed}`);
  };
  const match = FORM.exec(part);
  if (match === null) return fail('allowed: kind=probability or kind=<count>x, each optionally followed by @path');
  const [, kind = '', number, times, path] = match;
  if (!Object.hasOwn(KINDS, kind)) return fail(`the kind must be one of ${Object.keys(KINDS).join(', ')}`);
  const value = Number(number ?? '1');
  if (times === 'x' && !(Number.isInteger(value) && value >= 1)) fail('the count must be a whole number from 1');
  if (times !== 'x' && !(value >= 0 && value <= 1)) fail('the probability must be a number from 0 to 1');
  return {
    kind: kind as FaultKind,
    ...(times === 'x' ? { times: value } : { probability: value }),
    ...(path === undefined ? {} : { match: path }),
  };
}

/** A fault applied to a request. `variant`, 0 to 1, selects among forms of the fault. */
export interface Blow {
  readonly fault: Fault;
  readonly variant: number;
}

/** Returns the fault for a request, if any. `fits` returns whether a kind can apply to the request. */
export type FaultPicker = (path: string, fits: (kind: FaultKind) => boolean) => Blow | undefined;

/** Creates a picker. The same seed and order of requests give the same faults. */
export function createFaultPicker(faults: readonly Fault[], seed: number): FaultPicker {
  const random = randomOf('faults', seed);
  const left = faults.map((fault) => fault.times ?? Number.POSITIVE_INFINITY);
  return (path, fits) => {
    for (const [index, fault] of faults.entries()) {
      if ((left[index] as number) <= 0 || !fits(fault.kind) || !path.includes(fault.match ?? '')) continue;
      const chance = fault.probability ?? 1;
      if (chance < 1 && random() >= chance) continue;
      left[index] = (left[index] as number) - 1;
      return { fault, variant: random() };
    }
    return undefined;
  };
}
