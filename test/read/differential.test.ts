import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultChoices } from '../../schemas/fixtures/choices.ts';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import { isRecord } from '../../src/base/json.ts';
import { conventionsOf } from '../metrics/workspace.ts';
import { countOf, sampleOf } from '../support/counts.ts';
import { ONE_DAY_LATER } from '../support/edits.ts';
import type { World } from '../support/worlds.ts';
import { formVariants, reportVariants } from './choice-variants.ts';
import { expectAlike, hasRows, isComputed, rowsOf } from './compare-replies.ts';
import { type Mirror, openMirror, type Reply } from './mirror.ts';
import { questions, readVocabulary, type Vocabulary } from './questions.ts';

/** Questions per workspace, before and after it changes. */
const QUESTIONS = countOf(25, 300);
/** Questions that a sync asks about open points, as usual. */
const QUESTIONS_MAX = 6;
const WALKS = countOf(3, 20);
/** Maximum pages compared per paged scan. */
const PAGES = 200;
/** Rows per page without a limit parameter. */
const DEFAULT_LIMIT = 25;
const small = { brands: countOf(1, 2), prompts: 3, days: 4 } as const;

interface Variant extends WorkspaceOptions {
  readonly name: string;
  /** Used instead of a small workspace with other options. */
  readonly world?: World;
}

const variants: readonly Variant[] = [
  { name: 'default choices', world: 'tiny' },
  ...formVariants.map(({ number, choices }) => ({ name: `other forms, variant ${number}`, seed: 2 + number, choices })),
  { name: 'no responses', seed: 5, prompts: 0 },
  { name: 'no brands', seed: 6, brands: 0 },
];

describe('sandbox and read server return equal responses', () => {
  // Tests of comparisons and of open choices ask an upstream with default choices.
  it.each(sampleOf(variants, 1, 4))('with $name', { timeout: 300_000 }, async ({ name: _, ...options }) => {
    const mirror = await openMirror(
      options.world === undefined ? { ...small, questionsMax: QUESTIONS_MAX, ...options } : options,
    );
    if (options.world === undefined) await mirror.publish();
    const vocabulary = await readVocabulary(mirror);
    const asked = await compareAnswers(mirror, vocabulary);
    await compareWalks(mirror, vocabulary);
    if (vocabulary.brands.length === 0) return;
    mirror.sandbox.world.advance(ONE_DAY_LATER);
    await mirror.publish();
    const later = await readVocabulary(mirror, vocabulary);
    const askedLater = await compareAnswers(mirror, later);
    await compareWalks(mirror, later);
    const share = options.prompts === 0 ? 0.04 : 0.3;
    const count = asked.count + askedLater.count;
    expect(asked.rows + askedLater.rows, 'requests with rows in the response').toBeGreaterThan(share * count);
    expect(asked.refused + askedLater.refused, 'rejected requests').toBeGreaterThan(count / 100);
  });

  it.each(sampleOf(reportVariants, 1))(
    'for known conventions of reports: variant $number',
    { timeout: 300_000 },
    async ({ number, choices }) => {
      const seed = 11 + number;
      const mirror = await openMirror({ ...small, brands: 1, seed, choices, conventions: conventionsOf(choices) });
      await mirror.publish();
      const vocabulary = await readVocabulary(mirror);
      const before = await compareAnswers(mirror, vocabulary, isReport);
      // A prompt that is deleted after its group has changed leaves no trace of its last group.
      mirror.sandbox.world.advance({ deletedPrompts: 2, deletedCompetitors: 1 });
      mirror.sandbox.world.advance({ pausedPrompts: 1, regroupedPrompts: 2 });
      await mirror.publish();
      const after = await compareAnswers(mirror, await readVocabulary(mirror, vocabulary), isReport);
      const share = (before.rows + after.rows) / (before.count + after.count);
      expect(share, 'requests with rows in the response').toBeGreaterThan(0.3);
    },
  );
});

const isReport = (path: string): boolean => /\/(metrics|sources|traffic|responses)\b/.test(path);

it('all choices of the sandbox are covered by the variants, except three that cannot be compared', () => {
  const all = [...variants, ...reportVariants];
  const varied = new Set(all.flatMap(({ choices }) => Object.keys(choices ?? {})));
  const kept = Object.keys(defaultChoices).filter((choice) => !varied.has(choice));
  // Without an OpenAPI document no parameter name can be learned, and an upstream that accepts any slug as a filter
  // cannot be distinguished from one that accepts only known slugs, so these two cannot be compared. Unique
  // visitors of a range do not follow from those of other ranges.
  expect(kept).toEqual(['openapi', 'unknownEngine', 'siteTotals']);
});

async function compareAnswers(
  mirror: Mirror,
  vocabulary: Vocabulary,
  isAsked: (path: string) => boolean = () => true,
): Promise<{ count: number; rows: number; refused: number }> {
  const counts = { count: 0, rows: 0, refused: 0 };
  const [words] = vocabulary.brands;
  await fc.assert(
    fc.asyncProperty(questions(vocabulary).filter(isAsked), async (path) => {
      const [upstream, own] = await Promise.all([mirror.upstream(path), mirror.mirror(path)]);
      expectAlike(path, upstream, own, isComputed(mirror, path));
      counts.count += 1;
      if (upstream.status !== 200) counts.refused += 1;
      else if (hasRows(upstream.body)) counts.rows += 1;
    }),
    { numRuns: QUESTIONS, examples: words === undefined ? [] : [[`/brands/${words.id}/metrics?from=2026-02-30`]] },
  );
  return counts;
}

// Compares paged scans: the same pages in the same order. If pages are so small that a list has hundreds, compares only
// the first ones and requires each to be full, because a scan that makes no progress would not end.
async function compareWalks(mirror: Mirror, vocabulary: Vocabulary): Promise<void> {
  const paged = questions(vocabulary).filter((path) => /\/(responses|alerts|opportunities)\b/.test(path));
  if (vocabulary.brands.length === 0) return;
  await fc.assert(
    fc.asyncProperty(paged, async (path) => {
      const cursors = { upstream: '', own: '' };
      for (let page = 1; page <= PAGES; page++) {
        const [upstream, own] = await Promise.all([
          mirror.upstream(withCursor(path, cursors.upstream)),
          mirror.mirror(withCursor(path, cursors.own)),
        ]);
        expectAlike(`${path}, page ${page}`, upstream, own, false);
        cursors.upstream = nextCursor(upstream) ?? '';
        cursors.own = nextCursor(own) ?? '';
        if (cursors.upstream === '') return;
        expect(rowsOf(upstream.body), `rows of ${path}, page ${page}, before the last`).toHaveLength(limitOf(path));
      }
    }),
    { numRuns: WALKS },
  );
}

function limitOf(path: string): number {
  return Number(new URL(path, 'http://upstream').searchParams.get('limit') || DEFAULT_LIMIT);
}

function nextCursor({ body }: Reply): string | null {
  return isRecord(body) && typeof body['nextCursor'] === 'string' ? body['nextCursor'] : null;
}

function withCursor(path: string, cursor: string): string {
  return cursor === '' ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}
