import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conventionsOf } from '../analytics/workspace.ts';
import { sampleOf } from '../support/counts.ts';
import { expectAlike, hasRows, isComputed } from './compare-replies.ts';
import { type Mirror, openMirror } from './mirror.ts';
import { questions, readVocabulary, type Vocabulary } from './questions.ts';
import { reportVariants } from './report-variants.ts';

/** Questions per workspace, before and after it changes; set `QUESTIONS=1000` for a longer run. */
const QUESTIONS = Number(process.env['QUESTIONS'] ?? 50);

describe.each(sampleOf(reportVariants, Math.ceil(reportVariants.length / 9)))(
  'reports with $name',
  ({ name: _, seed, choices }) => {
    it('are equal if the conventions are known', { timeout: 300_000 }, async () => {
      const mirror = await openMirror({
        brands: 1,
        prompts: 9,
        days: 24,
        seed,
        choices,
        conventions: conventionsOf(choices),
      });
      await mirror.publish();
      const vocabulary = await readVocabulary(mirror);
      const before = await compareReports(mirror, vocabulary);
      mirror.sandbox.world.advance({ pausedPrompts: 1, regroupedPrompts: 2, deletedPrompts: 2, deletedCompetitors: 1 });
      await mirror.publish();
      const after = await compareReports(mirror, await readVocabulary(mirror, vocabulary));
      expect(before + after, 'requests with rows in the response').toBeGreaterThan(QUESTIONS * 0.6);
    });
  },
);

async function compareReports(mirror: Mirror, vocabulary: Vocabulary): Promise<number> {
  let withRows = 0;
  const reports = questions(vocabulary).filter((path) => /\/(metrics|sources|traffic|responses)\b/.test(path));
  await fc.assert(
    fc.asyncProperty(reports, async (path) => {
      const [upstream, own] = await Promise.all([mirror.upstream(path), mirror.mirror(path)]);
      expectAlike(path, upstream, own, isComputed(mirror, path));
      if (hasRows(upstream.body)) withRows += 1;
    }),
    { numRuns: QUESTIONS },
  );
  return withRows;
}
