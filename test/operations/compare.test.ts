import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { differencesOfResponses } from '../../src/operations/compare/body-differences.ts';
import { compareWorkspace } from '../../src/operations/compare/compare.ts';
import { notifyOfComparison } from '../../src/operations/notify/notify-of.ts';
import { type Context, openContext } from '../../src/operations/sightline.ts';
import { readWorkspaceStatus } from '../../src/operations/status.ts';
import { builtInCatalogue } from '../../src/workspace/catalogues.ts';
import { makeFolder, serve } from '../cli/helpers.ts';
import { NOW_MS } from '../support/clocks.ts';
import { countOf, sampleOf } from '../support/counts.ts';
import { copyWorld, worldClock } from '../support/worlds.ts';
import { type Alteration, type DeviatingUpstream, startDeviatingUpstream } from './deviating-upstream.ts';
import { plantedConventions } from './planted-conventions.ts';
import { deviations } from './planted-deviations.ts';

const HOUR_MS = 3_600_000;
const clock = worldClock();

let upstream: DeviatingUpstream;
let context: Context;
/** Messages that the webhook of the workspace received. */
const received: { readonly type: string; readonly data: { readonly summary: string } }[] = [];
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  upstream = await startDeviatingUpstream('small');
  const receiver = await serve((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on('end', () => {
      received.push(JSON.parse(text));
      response.writeHead(204).end();
    });
  });
  const folder = await makeFolder();
  await copyWorld('small', folder);
  closers.push(upstream.close, receiver.close, () => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ notify: [{ urlVariable: 'HOOK' }] }));
  context = openContext({
    folder,
    baseUrl: upstream.baseUrl,
    environment: { SIGHTLINE_API_KEY: upstream.key, SIGHTLINE_RAW_DAYS: '0', HOOK: receiver.origin },
    clock,
  });
});

afterAll(() => Promise.all(closers.map((close) => close())));

async function compare(alteration: Alteration | null, requests: number, resources: readonly string[] | null, seed = 3) {
  await upstream.deviate(alteration);
  const comparison = await compareWorkspace(context, { requests, brands: null, resources, seed }, () => undefined);
  const differing = comparison.questions.filter(({ verdict }) => verdict === 'differs');
  return { comparison, differing, error: comparison.error };
}

test('a synced workspace answers as upstream does', async () => {
  const requests = countOf(30, 200);
  const { comparison, error } = await compare(null, requests, null, 11);
  const { questions } = comparison;
  expect(error).toBeNull();
  expect(questions.filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
  expect([questions.length, comparison.requests]).toEqual([requests, requests]);
  expect(new Set(questions.map(({ resource }) => resource)).size).toBeGreaterThan(15);
  const { data } = await readWorkspaceStatus(context.config, clock);
  const counts = { compared: requests, equal: requests, skipped: 0, differing: [] };
  expect(data?.comparison).toEqual({ at: new Date(NOW_MS).toISOString(), ...counts });
});

test('each deviation of a response is a difference in its field', async () => {
  const [brand] = (await upstream.ask('/brands')).data ?? [];
  const [article] = (await upstream.ask(`/brands/${brand?.['id']}/articles`)).data ?? [];
  for (const { name, resource, query = '', alter, field } of deviations) {
    if (alter === undefined) continue;
    const { path } = builtInCatalogue.get(resource);
    const filled = path.replace('{brandId}', String(brand?.['id'])).replace('{articleId}', String(article?.['id']));
    const own = await upstream.ask(`${filled}?${query}`);
    const altered = alter(structuredClone(own), new URL(`${upstream.baseUrl}${filled}`));
    const theirs = typeof altered === 'number' ? { status: altered, body: null } : { status: 200, body: altered };
    const found = differencesOfResponses(theirs, { status: 200, body: own });
    const names = found.map((difference) => `${difference.field} ${difference.kind}`);
    expect(
      names.some((text) => text.includes(field)),
      `${name}: ${names}`,
    ).toBe(true);
  }
});

test.each(sampleOf(deviations, 1))(
  'a comparison reports $name, in its resource and field only',
  async ({ requests = 14, ...deviation }) => {
    const { differing, error } = await compare(deviation, requests, [deviation.resource]);
    expect(error).toBeNull();
    expect(new Set(differing.map(({ resource }) => resource))).toEqual(new Set([deviation.resource]));
    const fields = differing.flatMap((question) => question.fields);
    expect(
      fields.some((field) => field.includes(deviation.field)),
      `${fields}`,
    ).toBe(true);
  },
);

test.each(sampleOf(plantedConventions, 1, 6))(
  'a deviation that another candidate explains is reported with that convention: $name',
  async ({ name: _, resource, requests, conventions, ...alteration }) => {
    const { differing, error } = await compare(alteration, requests, [resource]);
    expect(error).toBeNull();
    expect(differing.length).toBeGreaterThan(0);
    expect([...new Set(differing.map(({ convention }) => String(convention)))].sort()).toEqual(conventions);
  },
);

test('numbers that differ are skipped if the data are old, other fields are not, and a webhook gets the result', async () => {
  const asked = async (alteration: Alteration) => {
    const { comparison, differing } = await compare(alteration, 6, ['cited_urls']);
    await notifyOfComparison(context, comparison);
    return { questions: comparison.questions, differing };
  };
  const setting = (name: string, value: (old: unknown) => unknown): NonNullable<Alteration['alter']> => {
    return (body) => ({ ...body, data: (body.data ?? []).map((row) => ({ ...row, [name]: value(row[name]) })) });
  };
  const more = setting('citations', (count) => Number(count) + 1);
  received.length = 0;
  const fresh = await asked({ alter: more });
  expect(fresh.differing.length).toBeGreaterThan(0);
  expect(received.map(({ type }) => type)).toEqual(['drift']);
  expect(received[0]?.data.summary).toMatch(
    new RegExp(
      `^${fresh.differing.length} of ${fresh.questions.length} compared responses differ .*: cited_urls data\\[\\]\\.citations`,
    ),
  );

  const old = await asked({ alter: more, laterMs: 7 * HOUR_MS });
  expect(old.differing).toEqual([]);
  expect(old.questions.find(({ verdict }) => verdict === 'skipped')?.detail).toContain('in the 420 minutes since');
  expect(received).toHaveLength(1);

  const titles = await asked({ alter: setting('title', () => 'Another title'), laterMs: 7 * HOUR_MS });
  expect(new Set(titles.differing.flatMap(({ fields }) => fields))).toEqual(new Set(['data[].title']));
});
