import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Finding } from '../../src/metrics/calibration/candidates.ts';
import { pointChoices } from '../../src/metrics/calibration/choices.ts';
import { compareFacts } from '../../src/metrics/calibration/compare-facts.ts';
import { type Conventions, defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { fitPoints, type PointEvidence } from '../../src/metrics/calibration/fit-points.ts';
import {
  type CalibrationPoint,
  type Compute,
  type Facts,
  type KnownAnswer,
  pointOf,
  type ReportQuestion,
} from '../../src/metrics/calibration/points/point.ts';

// The reports of this test are numbers by subject. The subject `name/3` depends on the point `name` alone, `name+other/3` on two points,
// and `any/3` on none. Each value of a point gives another number, modulo the number after the last slash.

const names = ['urlTitle', 'groupPrompts', 'promptRows', 'changePeriod'] as const;
type Name = (typeof names)[number];
type Truth = Pick<Conventions, Name>;

const choicesOf = (name: Name): readonly string[] => pointChoices[name];

function numberOf(subject: string, conventions: Pick<Conventions, Name>): number {
  const [used = '', modulus = '1'] = subject.split('/');
  const places = used
    .split('+')
    .map((name) => (names.includes(name as Name) ? choicesOf(name as Name).indexOf(conventions[name as Name]) : 0));
  return places.reduce((sum, place, index) => sum + place * (index + 1), 0) % Number(modulus);
}

const subjectsOf = ({ query }: ReportQuestion): string[] => (query['subjects'] ?? '').split(' ').filter(Boolean);

function report(question: ReportQuestion, conventions: Pick<Conventions, Name>): Record<string, number> {
  return Object.fromEntries(subjectsOf(question).map((subject) => [subject, numberOf(subject, conventions)]));
}

interface Counted {
  readonly compute: Compute;
  /** Number of computed responses. */
  computed: number;
}

function counting(): Counted {
  const counted: Counted = {
    computed: 0,
    compute: async (question, _askedAt, conventions) => {
      counted.computed += 1;
      return { status: 200, body: report(question, conventions) };
    },
  };
  return counted;
}

function pointFor(name: Name): CalibrationPoint {
  const facts = ({ body }: { readonly body: unknown }, question: ReportQuestion): Facts => {
    const own = subjectsOf(question).filter((subject) => subject.includes(name) || subject.startsWith('any'));
    const numbers = (body ?? {}) as Record<string, number>;
    return { kind: 'values', values: new Map(own.map((subject) => [subject, numbers[subject]])) };
  };
  return pointOf([name], ['metrics'], facts);
}

function answerOf(subjects: readonly string[], truth: Truth, changes: Partial<KnownAnswer> = {}): KnownAnswer {
  const question = { resource: 'metrics', brandId: 'brand', query: { subjects: subjects.join(' ') } };
  const body = report(question, truth);
  return {
    ...question,
    status: 200,
    body,
    isSettled: true,
    askedAt: 0,
    isFresh: true,
    ...changes,
  };
}

function evidenceOf(answers: readonly KnownAnswer[], compute: Compute, used: readonly Name[] = names): PointEvidence {
  return { points: used.map(pointFor), answers, conventions: defaultConventions, compute, labels: [] };
}

const defaults: Truth = {
  urlTitle: 'latest',
  groupPrompts: 'answered',
  promptRows: 'answered',
  changePeriod: 'adjacent',
};

const truths: fc.Arbitrary<Truth> = fc.record(
  Object.fromEntries(names.map((name) => [name, fc.constantFrom(...choicesOf(name))])) as Record<
    Name,
    fc.Arbitrary<never>
  >,
);

/** Larger than the number of candidates, so that each gives another number. */
const DISTINCT = 97;

describe('fitting points to whole responses', () => {
  test('finds every value that a fact shows, and no other', async () => {
    const shown = fc.subarray([...names], { minLength: 0 });
    await fc.assert(
      fc.asyncProperty(truths, shown, fc.boolean(), async (truth, wanted, isSettled) => {
        const subjects = ['any/1', ...wanted.map((name) => `${name}/${DISTINCT}`)];
        const { compute } = counting();
        const findings = await fitPoints(evidenceOf([answerOf(subjects, truth, { isSettled })], compute));
        for (const name of names) {
          const isShown = wanted.includes(name);
          expect({ name, ...findings[name] }).toMatchObject({
            name,
            source: isShown ? 'learned' : 'default',
            value: isShown ? truth[name] : choicesOf(name)[0],
            contradicted: false,
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  test('does not choose between candidates that explain the same facts', async () => {
    await fc.assert(
      fc.asyncProperty(truths, fc.integer({ min: 1, max: 4 }), async (truth, modulus) => {
        const { compute } = counting();
        const subject = `urlTitle/${modulus}`;
        const { urlTitle } = await fitPoints(evidenceOf([answerOf([subject], truth)], compute, ['urlTitle']));
        const alike = pointChoices.urlTitle.filter(
          (value) => numberOf(subject, { ...truth, urlTitle: value }) === numberOf(subject, truth),
        );
        // The default is kept if it is among the candidates that are left; if it is not, the likeliest of them is used.
        expect(urlTitle).toMatchObject({ source: alike.length > 1 ? 'default' : 'learned', contradicted: false });
        expect(urlTitle?.value).toBe(alike[0]);
      }),
      { numRuns: 60 },
    );
  });

  test('finds points that depend on each other, in rounds', async () => {
    const truth: Truth = { ...defaults, urlTitle: 'frequent', groupPrompts: 'active' };
    const { compute } = counting();
    // The first point has no fact of its own, so it is found only after the second.
    const subjects = [`urlTitle+groupPrompts/${DISTINCT}`, `groupPrompts/${DISTINCT}`, `groupPrompts/${DISTINCT - 1}`];
    const findings = await fitPoints(evidenceOf([answerOf(subjects, truth)], compute, ['urlTitle', 'groupPrompts']));
    expect(findings['groupPrompts']).toMatchObject({ value: 'active' });
    expect(findings['urlTitle']).toMatchObject({ source: 'learned', value: 'frequent', compared: 1, agreed: 1 });
  });

  describe('a fact that no candidate explains', () => {
    const shown = `urlTitle/${DISTINCT}`;
    const other = `urlTitleOther/${DISTINCT}`;
    const wrong = (subjects: readonly string[], changes: Partial<KnownAnswer> = {}): KnownAnswer => {
      const answer = answerOf(subjects, { ...defaults, urlTitle: 'first' }, changes);
      return { ...answer, body: { ...(answer.body as Record<string, number>), [other]: 90 } };
    };
    const find = async (...answers: KnownAnswer[]) => {
      const { urlTitle } = await fitPoints(evidenceOf(answers, counting().compute, ['urlTitle']));
      return urlTitle;
    };

    test('contradicts all candidates in the response to a question', async () => {
      expect(await find(wrong([shown, other]))).toMatchObject({
        source: 'default',
        value: 'latest',
        contradicted: true,
      });
    });

    test('leaves a point undetermined if it is one of many, and its best value is used', async () => {
      const many = Array.from({ length: 60 }, (_, index) => `urlTitle/${DISTINCT + index}`);
      const found = await find(wrong([...many, other]));
      expect(found).toMatchObject({ source: 'default', value: 'first', contradicted: false, confidence: null });
      expect(found?.note).toContain('no value explains 1 other fact');
      expect(await find(answerOf(many, { ...defaults, urlTitle: 'first' }))).toMatchObject({ source: 'learned' });
    });

    test('leaves a point undetermined if it is in a report, and contradicts it in one of complete days', async () => {
      const report = wrong([shown, other], { isSettled: false });
      expect(await find(report)).toMatchObject({ source: 'default', value: 'first', contradicted: false });
      expect(await find(report, wrong([shown, other]))).toMatchObject({ source: 'default', contradicted: true });
    });
  });

  test('keeps what it has found until a response contradicts it', async () => {
    const counted = counting();
    const find = async (answers: readonly KnownAnswer[], known: ReadonlyMap<string, Finding<unknown>>) => {
      const { urlTitle } = await fitPoints({ ...evidenceOf(answers, counted.compute, ['urlTitle']), known });
      if (urlTitle === undefined) throw new Error('urlTitle has no finding');
      return new Map([['urlTitle', urlTitle]]);
    };
    const show = (value: Truth['urlTitle'], modulus: number) =>
      answerOf([`urlTitle/${modulus}`], { ...defaults, urlTitle: value });
    // A remainder leaves several values; a further one rules out the others, although the first response is not compared any more.
    const some = await find([show('greatest', 4)], new Map());
    expect(some.get('urlTitle')).toMatchObject({ source: 'default' });
    expect(some.get('urlTitle')?.left.length).toBeGreaterThan(1);
    expect(await find([], some)).toEqual(some);
    const one = await find([show('greatest', 5)], some);
    expect(one.get('urlTitle')).toMatchObject({ source: 'learned', value: 'greatest' });
    counted.computed = 0;
    expect(await find([show('greatest', DISTINCT), show('greatest', 2)], one)).toEqual(one);
    expect(counted.computed).toBeLessThanOrEqual(4);
    expect(await find([{ ...show('least', DISTINCT), isFresh: false }], one)).toEqual(one);
    const next = await find([show('least', DISTINCT)], one);
    expect(next.get('urlTitle')).toMatchObject({ source: 'learned', value: 'least' });
  });

  test('keeps a determined value although a report that is not settled has another fact', async () => {
    const { compute } = counting();
    const known = await fitPoints(evidenceOf([answerOf([`urlTitle/${DISTINCT}`], defaults)], compute, ['urlTitle']));
    const report = answerOf([`urlTitle/${DISTINCT}`], defaults, { isSettled: false });
    const answers = [{ ...report, body: { [`urlTitle/${DISTINCT}`]: 90 } }];
    const evidence = { ...evidenceOf(answers, compute, ['urlTitle']), known: new Map(Object.entries(known)) };
    expect(await fitPoints(evidence)).toEqual(known);
  });

  test('compares at most 24 responses of a point in one calibration', async () => {
    const counted = counting();
    const answers = Array.from({ length: 40 }, () => answerOf(['any/1'], defaults));
    const { urlTitle } = await fitPoints(evidenceOf(answers, counted.compute, ['urlTitle']));
    expect(counted.computed).toBe(24 * pointChoices.urlTitle.length);
    expect(urlTitle).toMatchObject({ source: 'default', compared: 24 });
  });
});

test('confidence grows with the facts that rule out other candidates', async () => {
  const confidences: number[] = [];
  for (const count of [1, 3, 10, 100]) {
    const { compute } = counting();
    const subjects = Array.from({ length: count }, (_, index) => `urlTitle/${DISTINCT + index}`);
    const { urlTitle } = await fitPoints(evidenceOf([answerOf(subjects, defaults)], compute, ['urlTitle']));
    confidences.push(urlTitle?.confidence ?? 0);
  }
  expect(confidences.toSorted((a, b) => a - b)).toEqual(confidences);
  expect(confidences[0]).toBeLessThan(0.25);
  expect(confidences.at(-1)).toBeGreaterThan(0.95);
});

describe('comparing facts', () => {
  test('values count only for subjects that some candidate has', () => {
    const values = (entries: Record<string, unknown>): Facts => ({
      kind: 'values',
      values: new Map(Object.entries(entries)),
    });
    const ours = [values({ a: 1, b: 2 }), values({ a: 1.0000000000001, c: null })];
    expect(compareFacts(values({ a: 1, b: 2, c: undefined, d: 4 }), ours)).toEqual([
      [true, true],
      [true, false],
      [false, true],
    ]);
  });

  test('sets count every member of either side', () => {
    const set = (...members: string[]): Facts => ({ kind: 'set', members: new Set(members) });
    expect(compareFacts(set('a', 'b'), [set('a', 'b'), set('a'), set('a', 'b', 'c')])).toEqual([
      [true, true, true],
      [true, false, true],
      [true, true, false],
    ]);
  });

  test('orders count neighbours of members that all sides have', () => {
    const letters = fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e'], { minLength: 2 });
    fc.assert(
      fc.property(letters, letters, (members, other) => {
        const order = (of: readonly string[]): Facts => ({ kind: 'order', members: of });
        const rows = compareFacts(order(members), [order(members), order(other)]);
        const common = members.filter((member) => other.includes(member));
        expect(rows).toHaveLength(Math.max(0, common.length - 1));
        expect(rows.every(([own]) => own === true)).toBe(true);
        const isAlike = JSON.stringify(other.filter((member) => members.includes(member))) === JSON.stringify(common);
        expect(rows.every(([, theirs]) => theirs === true)).toBe(isAlike);
      }),
    );
  });
});
