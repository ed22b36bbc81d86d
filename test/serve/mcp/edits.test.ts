import { expect, it } from 'vitest';
import { walkAnswers } from '../../../schemas/fixtures/world/answers.ts';
import type { Answer, Brand } from '../../../schemas/fixtures/world/model.ts';
import { defaultConventions } from '../../../src/analytics/calibration/conventions.ts';
import { addDays, dayOf } from '../../../src/contract/time.ts';
import { openMirror } from '../../query/mirror.ts';
import { call, connect, startBareMcp } from './support.ts';

/** The kind of change in `what_changed` for each edit at upstream. */
const KINDS = {
  pausedPrompts: 'prompt_paused',
  deletedCompetitors: 'competitor_removed',
  forumStatusChanges: 'thread_state',
  articleProgress: 'article_state',
  actionsDone: 'action_done',
} as const;
const EDITS = { pausedPrompts: 2, deletedCompetitors: 1, forumStatusChanges: 3, articleProgress: 2, actionsDone: 2 };
/** Responses of one brand that cite a domain for the first time. */
const CITING = 3;

it('what_changed counts the edits and new sources since a sync, and query_metrics the responses of 28 complete days', async () => {
  const mirror = await openMirror({ world: 'months', conventions: defaultConventions });
  const { world, advance } = mirror.sandbox;
  const answersOf = (brand: Brand, from: string, to: string): Answer[] => [
    ...walkAnswers(world.plan, brand, { from, to }, world.now()),
  ];
  const syncedAtMs = world.now();
  const edited = advance({ days: 1, ...EDITS });
  const today = dayOf(world.now());
  const recent = answersOf(world.brands[0] as Brand, dayOf(syncedAtMs), today).filter(({ atMs }) => atMs > syncedAtMs);
  const added = { url: 'https://new.example/guide', domain: 'new.example', title: 'Guide' };
  for (const answer of recent.slice(0, CITING)) answer.citations = [...answer.citations, added];
  await mirror.publish();
  const client = await connect(await startBareMcp(mirror.service, {}, {}, mirror.clock));

  const kind = [...Object.values(KINDS), 'source_added'];
  const changes = await call(client, 'what_changed', { since: new Date(syncedAtMs).toISOString(), kind });
  const counts: Record<string, number> = { source_added: 1 };
  for (const one of edited.filter(({ kind: name }) => name in KINDS)) {
    const name = KINDS[one.kind as keyof typeof KINDS];
    counts[name] = (counts[name] ?? 0) + one.ids.length;
  }
  expect(changes.shown.counts).toEqual(counts);
  expect(Object.keys(counts)).toHaveLength(kind.length);
  expect(changes.text).toContain(`Domain new.example was cited for the first time, by ${CITING} responses so far.`);

  const { shown } = await call(client, 'query_metrics', { metrics: ['responses', 'mentions'], group_by: ['brand'] });
  const expected = world.brands.map((brand) => {
    const answers = answersOf(brand, addDays(today, -28), addDays(today, -1));
    return [brand.name, answers.length, answers.filter(({ mentioned }) => mentioned).length];
  });
  expect(shown.rows).toEqual(expected);
});
