import { createHash } from 'node:crypto';
import { canonical } from './candidates.ts';
import type { Agreement } from './compare-facts.ts';
import type { Conventions } from './conventions.ts';
import type { CalibrationPoint, StoredAgreements } from './points/point.ts';

/** The conventions of a calibration, and the points among them. */
export interface UsedConventions {
  readonly points: readonly CalibrationPoint[];
  readonly conventions: Conventions;
}

/** Counts equal agreements, and adds what they depend on. */
export function packRows(
  rows: readonly Agreement[],
  point: CalibrationPoint,
  used: UsedConventions,
  reads: readonly (keyof Conventions)[],
): StoredAgreements {
  const facts: Record<string, number> = {};
  for (const row of rows) {
    const pattern = row.map(Number).join('');
    facts[pattern] = (facts[pattern] ?? 0) + 1;
  }
  return { reads, ...digestsOf(point, used, reads), facts };
}

/** Returns an agreement for each fact. */
export function unpackRows({ facts }: StoredAgreements): Agreement[] {
  return Object.entries(facts).flatMap(([pattern, count]) => {
    const row = [...pattern].map((agrees) => agrees === '1');
    return Array.from({ length: count }, () => row);
  });
}

/**
 * Whether agreements hold with these conventions. If the response is not fresh they cannot be computed again, so only the conventions
 * that decide the facts of points have to be equal: rounding, for example, may have been refined since.
 */
export function isValid(
  { reads, digest, pointDigest }: StoredAgreements,
  point: CalibrationPoint,
  used: UsedConventions,
  isFresh: boolean,
): boolean {
  const now = digestsOf(point, used, reads);
  return isFresh ? now.digest === digest : now.pointDigest === pointDigest;
}

function digestsOf(
  point: CalibrationPoint,
  { points, conventions }: UsedConventions,
  reads: readonly (keyof Conventions)[],
): Pick<StoredAgreements, 'digest' | 'pointDigest'> {
  const valuesOf = (names: readonly (keyof Conventions)[]): string =>
    digest([point.candidates, names.map((name) => [name, conventions[name]])]);
  return {
    digest: valuesOf(reads),
    pointDigest: valuesOf(reads.filter((name) => points.some((one) => one.name === name))),
  };
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
}
