import { existsSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { countOf } from '../support/counts.ts';
import { evaluate, questions } from './evaluate.ts';
import type { Figures } from './plan.ts';
import { median, RESULTS, readResults } from './results.ts';

/** `npm run evaluation` writes the figures instead of checking them. */
const IS_WRITTEN = process.env['MODE'] === 'evaluation';
/** Plans of endpoints that read more than this are not run. */
const COMPARED_TOKENS_MAX = countOf(6_000, 1_000_000);
/** Part by which tokens may differ, because generated ids and times differ. */
const TOLERANCE = 0.05;
const GOAL = { calls: 2, tokens: 3_000 };
/** Limit for a machine that is busy with other work. */
const TIMEOUT_MS = 600_000;

it(
  'plans of at most a few calls return the known answers of 40 questions, with the figures of results.json',
  async () => {
    const stored = existsSync(RESULTS) ? readResults() : { questions: [], conversations: [] };
    const isCompared = (id: string): boolean =>
      (stored.questions.find((one) => one.id === id)?.upstream?.tokens ?? 0) <= COMPARED_TOKENS_MAX;
    const { answers, known, results } = await evaluate(IS_WRITTEN ? () => true : isCompared);
    expect(answers).toEqual(known);
    if (IS_WRITTEN) {
      writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
      return;
    }
    for (const result of results.questions) {
      const expected = stored.questions.find(({ id }) => id === result.id);
      expect(result).toMatchObject({ question: expected?.question, tools: expected?.tools });
      expectNear(result, expected);
      if (result.upstream !== null) expectNear(result.upstream, expected?.upstream);
    }
    for (const [index, { title, calls, answer }] of results.conversations.entries()) {
      const expected = stored.conversations[index];
      expect({ title, answer }).toEqual({ title: expected?.title, answer: expected?.answer });
      for (const [place, { tokens, ...call }] of calls.entries()) {
        expect(call.tool).toBe(expected?.calls[place]?.tool);
        expectNear({ calls: 1, tokens }, { calls: 1, tokens: expected?.calls[place]?.tokens ?? 0 });
      }
    }
  },
  TIMEOUT_MS,
);

it('the stored figures are those of the questions, and reach the goals', () => {
  const { questions: stored } = readResults();
  expect(stored.map(({ id, question }) => [id, question])).toEqual(questions.map(({ id, question }) => [id, question]));
  expect(stored).toHaveLength(40);
  expect(new Set(stored.map(({ id }) => id)).size).toBe(40);
  expect(median(stored.map(({ calls }) => calls))).toBeLessThanOrEqual(GOAL.calls);
  expect(median(stored.map(({ tokens }) => tokens))).toBeLessThanOrEqual(GOAL.tokens);
  expect(stored.find(({ id }) => id === 'weekly-by-engine-two-brands')).toMatchObject({
    calls: 1,
    upstream: { calls: 96 },
  });
});

function expectNear(found: Figures, expected: Figures | null | undefined): void {
  expect(found.calls).toBe(expected?.calls);
  const tokens = expected?.tokens ?? 0;
  expect(Math.abs(found.tokens - tokens), `${found.tokens} tokens, expected ${tokens}`).toBeLessThanOrEqual(
    Math.max(10, tokens * TOLERANCE),
  );
}
