import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IS_ENDURANCE, sampleOf } from '../support/counts.ts';
import { expectKnown, expectSurvived, type Lie, openAttacked, tellerOf } from './attack.ts';
import type { Exchange } from './liar.ts';
import { bodyLies } from './lies/bodies.ts';
import { dateHeaderLies, headerLies } from './lies/headers.ts';
import { omissionLies } from './lies/omissions.ts';
import { itemTimeLies } from './lies/times.ts';

/** Lies by area. `npm test` tells the first lie of each area about the smallest world. */
const areas: readonly (readonly [area: string, lies: readonly Lie[]])[] = [
  ['bodies', bodyLies],
  ['headers and statuses', headerLies],
  ['its lists and counts', omissionLies],
  ['its clock', dateHeaderLies],
  // Another test tells one of these lies: an item with a time that is never corrected.
  ...(IS_ENDURANCE ? [['the times of items', itemTimeLies] as const] : []),
];

describe.each(areas)('an upstream that lies about %s', (_area, lies) => {
  const told = IS_ENDURANCE ? lies : sampleOf(lies.filter(isOfTiny), 1);
  test.for(told.map((lie) => [lie.title, lie] as const))('upstream %s', ([, lie]) => expectSurvived(lie));
});

if (IS_ENDURANCE) {
  test('a healthy sync repairs the effects of random lies in random order', async () => {
    const lies = areas.flatMap(([, told]) => told);
    const named = lies.map((lie) => ({ ...lie, [fc.toStringMethod]: () => lie.title }));
    const attack = fc.uniqueArray(fc.constantFrom(...named), { minLength: 1, maxLength: 2 });
    const attacks = fc.array(attack, { minLength: 2, maxLength: 2 });
    const property = fc.asyncProperty(attacks, async (sequence) => {
      const { liar, sync, expectRepaired } = await openAttacked('small');
      for (const told of sequence) {
        liar.tell(tellAll(told));
        expectKnown(await sync());
      }
      liar.tell(null);
      // The second one may be needed for what the first one has noticed.
      await sync();
      await expectRepaired();
    });
    // A smaller sequence costs as much to find as a new one.
    await fc.assert(property, { numRuns: 20, endOnFailure: true });
  });
}

function isOfTiny({ world }: Lie): boolean {
  return world === undefined;
}

function tellAll(told: readonly Lie[]): (exchange: Exchange) => void {
  const tellers = told.map(tellerOf);
  return (exchange) => {
    for (const tell of tellers) {
      try {
        tell(exchange);
      } catch {
        // An earlier lie left nothing to change for this one.
      }
    }
  };
}

test('an item with an implausible time that upstream never corrects makes one run partial, and not every run', async () => {
  const { liar, sync, expectRepaired } = await openAttacked('tiny');
  const id = '00000000-0000-4000-8000-000000000001';
  const item = { id, promptId: id, prompt: 'always there', createdAt: '0001-01-01T00:00:00Z', engine: 'chatgpt' };
  const nothing = { competitors: [], citations: [], brandMentioned: false, brandPosition: null, brandSentiment: null };
  liar.tell((exchange) => {
    if (!exchange.path.endsWith('/responses') || exchange.query.has('cursor')) return;
    exchange.edit(({ data }) => void data.push({ ...data[0], ...item, ...nothing }));
  });
  expect((await sync()).status).toBe('partial');
  const second = await sync();
  expect(second.status, second.text).toBe('complete');
  expect(second.quarantined).toBeGreaterThan(0);
  await expectRepaired();
});
