import { isDeepStrictEqual } from 'node:util';
import { isSame } from './candidates.ts';
import { asNumber } from './points/facts.ts';
import type { Facts } from './points/point.ts';

/** Whether each candidate gives one fact of upstream. */
export type Agreement = readonly boolean[];

/** Compares the facts of upstream with those of each candidate; if `isPartial`, only facts in which candidates differ. */
export function compareFacts(theirs: Facts, ours: readonly Facts[], isPartial = false): Agreement[] {
  switch (theirs.kind) {
    case 'values': {
      const sides = ours.map((facts) => (facts.kind === 'values' ? facts.values : new Map<string, unknown>()));
      const shared = [...theirs.values].filter(([subject]) => sides.some((side) => side.has(subject)));
      const differs = (subject: string): boolean =>
        sides.some(
          (side) => side.has(subject) !== sides[0]?.has(subject) || !isAlike(side.get(subject), sides[0]?.get(subject)),
        );
      return shared
        .filter(([subject]) => !isPartial || differs(subject))
        .map(([subject, value]) => sides.map((side) => side.has(subject) && isAlike(value, side.get(subject))));
    }
    case 'set': {
      const sides = ours.map((facts) => (facts.kind === 'set' ? facts.members : new Set<string>()));
      const members = new Set([...theirs.members, ...sides.flatMap((side) => [...side])]);
      return [...members].map((member) => sides.map((side) => side.has(member) === theirs.members.has(member)));
    }
    case 'order':
      return orderAgreements(
        theirs.members,
        ours.map((facts) => (facts.kind === 'order' ? facts.members : [])),
      );
  }
}

// Only members that all sides have are compared, by their neighbours: moving one row changes few facts.
function orderAgreements(theirs: readonly string[], ours: readonly (readonly string[])[]): Agreement[] {
  const places = ours.map((side) => new Map(side.map((member, index) => [member, index])));
  const common = theirs.filter((member) => places.every((side) => side.has(member)));
  return common.slice(1).map((member, index) => {
    const before = common[index] as string;
    return places.map((side) => (side.get(before) ?? 0) < (side.get(member) ?? 0));
  });
}

function isAlike(a: unknown, b: unknown): boolean {
  const left = asNumber(a ?? null);
  const right = asNumber(b ?? null);
  if (typeof left === 'number' && typeof right === 'number') return isSame(left, right);
  return isDeepStrictEqual(left, right);
}

/** Number of facts. */
export function countFacts(facts: Facts): number {
  return facts.kind === 'values' ? facts.values.size : facts.kind === 'set' ? facts.members.size : facts.members.length;
}
