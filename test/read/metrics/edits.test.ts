import { expect, test } from 'vitest';
import { walkAnswers } from '../../../schemas/fixtures/world/answers.ts';
import type { Brand } from '../../../schemas/fixtures/world/model.ts';
import { dayOf } from '../../../src/contract/time.ts';
import { defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { listChanges } from '../../../src/read/metrics/explanations.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { openMirror } from '../mirror.ts';

/** The kind of change for each edit at upstream. */
const KINDS = {
  pausedPrompts: 'prompt_paused',
  deletedCompetitors: 'competitor_removed',
  forumStatusChanges: 'thread_state',
  articleProgress: 'article_state',
  actionsDone: 'action_done',
} as const;
const EDITS = { pausedPrompts: 1, deletedCompetitors: 1, forumStatusChanges: 2, articleProgress: 1, actionsDone: 1 };
/** Responses of one brand that cite a domain for the first time. */
const CITING = 3;

test('the changes since a sync are the edits at upstream and the new sources', async () => {
  const mirror = await openMirror({ world: 'small', conventions: defaultConventions });
  const { world, advance } = mirror.sandbox;
  const syncedAtMs = world.now();
  const edited = advance({ days: 1, ...EDITS });
  const range = { from: dayOf(syncedAtMs), to: dayOf(world.now()) };
  const answers = walkAnswers(world.plan, world.brands[0] as Brand, range, world.now());
  const recent = [...answers].filter(({ atMs }) => atMs > syncedAtMs);
  const added = { url: 'https://new.example/guide', domain: 'new.example', title: 'Guide' };
  for (const answer of recent.slice(0, CITING)) answer.citations = [...answer.citations, added];
  const only = ['prompts', 'competitors', 'responses', 'articles', 'forum_opportunities', 'action_plans'];
  expect((await mirror.sync({ only })).status).toBe('complete');
  await mirror.publishOnly();

  const expected: Record<string, number> = { source_added: 1 };
  for (const one of edited.filter(({ kind }) => kind in KINDS)) {
    const name = KINDS[one.kind as keyof typeof KINDS];
    expected[name] = (expected[name] ?? 0) + one.ids.length;
  }
  expect(Object.keys(expected)).toHaveLength(Object.keys(KINDS).length + 1);
  const source = { replica: await mirror.service.newest(), catalogue, nowMs: mirror.clock.now() };
  const given = new URLSearchParams({ since: new Date(syncedAtMs).toISOString() });
  for (const kind of Object.keys(expected)) given.append('kind', kind);
  const { counts, changes } = await listChanges(source, given);
  expect(counts).toEqual(expected);
  const sentence = `Domain new.example was cited for the first time, by ${CITING} responses so far.`;
  expect(changes.map((change) => change.sentence)).toContain(sentence);
});
