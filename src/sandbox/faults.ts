import { randomOf } from './random.ts';

const KINDS = {
  '429': 'refused as over the limit, with Retry-After',
  '500': 'internal error, in the error envelope',
  '502': 'bad gateway, as an HTML page',
  '503': 'unavailable, every other time with Retry-After',
  reset: 'connection reset before or within the answer',
  hang: 'no answer, ever',
  truncate: 'connection closed before the promised length',
  badjson: '200 with a text that is no JSON',
  norows: '200 with an object that lacks its rows',
  wrongtypes: 'some rows with a field of a wrong type or without their key',
  unknownfields: 'rows with fields nobody declared',
  unknownenums: 'rows with labels nobody declared',
  expiredcursor: '400 on a cursor',
  stuckcursor: 'nextCursor is the cursor that was sent',
  headinsert: 'while a list is paged: a new row at its head, and the row before the page once more',
  slowbody: 'a body that trickles',
} as const;

/** What can be made to go wrong. */
export type FaultKind = keyof typeof KINDS;

/** Every kind of fault, with a description for people. */
export const FAULT_KINDS: Readonly<Record<FaultKind, string>> = KINDS;

/** A fault to cause; with `times`, the first requests it applies to suffer it, else each with `probability`. */
export interface Fault {
  readonly kind: FaultKind;
  /** 0 to 1; 1 when neither this nor `times` is given. */
  readonly probability?: number;
  readonly times?: number;
  /** Only requests whose path contains this. */
  readonly match?: string;
  /** What Retry-After says, where the fault sends it; default 1. */
  readonly retryAfterSeconds?: number;
}

const FORM = /^([a-z0-9]+)(?:=([0-9.]+)(x?))?(?:@(\S+))?$/;

/**
 * Reads `429=0.02,500=3x,reset=0.01@/some/path`: a probability, or a number of times followed by x, optionally only
 * for paths that contain what stands after the @. Throws a RangeError that names the bad part and what is allowed.
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
  if (match === null) return fail('allowed is kind=probability, kind=times followed by x, and @path after either');
  const [, kind = '', number, times, path] = match;
  if (!Object.hasOwn(KINDS, kind)) return fail(`the kind must be one of ${Object.keys(KINDS).join(', ')}`);
  const value = Number(number ?? '1');
  if (times === 'x' && !(Number.isInteger(value) && value >= 1)) fail('the times must be a whole number from 1');
  if (times !== 'x' && !(value >= 0 && value <= 1)) fail('the probability must be a number from 0 to 1');
  return {
    kind: kind as FaultKind,
    ...(times === 'x' ? { times: value } : { probability: value }),
    ...(path === undefined ? {} : { match: path }),
  };
}

/** A fault that befalls a request, with a number from 0 to 1 that varies how. */
export interface Blow {
  readonly fault: Fault;
  readonly variant: number;
}

/** Decides which fault a request suffers, if any; `fits` says whether a kind makes sense for the request. */
export type FaultPicker = (path: string, fits: (kind: FaultKind) => boolean) => Blow | undefined;

/** Builds a picker; the same seed and the same order of requests give the same faults. */
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
