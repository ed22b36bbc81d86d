import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { compareWorkspace } from '../../src/operations/compare/compare.ts';
import { notifyOfComparison } from '../../src/operations/notify/notify-of.ts';
import { openContext, sync } from '../../src/operations/sightline.ts';
import { serve } from '../cli/helpers.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Body, type Row, startDeviatingUpstream } from './deviating-upstream.ts';

const HOUR_MS = 3_600_000;

test('numbers that differ are skipped if the data are old, other fields are not, and a webhook gets the result', async () => {
  const upstream = await startDeviatingUpstream(19);
  onTestFinished(() => upstream.close());
  const received: { readonly type: string; readonly data: { readonly summary: string } }[] = [];
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
  onTestFinished(() => receiver.close());
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ notify: [{ urlVariable: 'HOOK' }] }));
  const context = openContext({
    folder,
    dataDir: folder,
    baseUrl: upstream.baseUrl,
    environment: { SIGHTLINE_API_KEY: upstream.key, SIGHTLINE_RAW_DAYS: '0', HOOK: receiver.origin },
    clock: { ...systemClock, now: () => NOW_MS },
  });
  await sync(context);
  received.length = 0;
  const compare = async () => {
    const request = { requests: 6, brands: null, resources: ['cited_urls'], seed: 3 };
    const comparison = await compareWorkspace(context, request, () => undefined);
    await notifyOfComparison(context, comparison);
    return comparison.questions;
  };
  const rowsOf = (body: Body): Row[] => body.data ?? [];
  const alter = (body: Body): Body => {
    for (const row of rowsOf(body)) row['citations'] = Number(row['citations']) + 1;
    return body;
  };
  await upstream.deviate({ alter });

  const fresh = await compare();
  const differing = fresh.filter(({ verdict }) => verdict === 'differs').length;
  expect(differing).toBeGreaterThan(0);
  expect(received.map(({ type }) => type)).toEqual(['drift']);
  expect(received[0]?.data.summary).toMatch(
    new RegExp(`^${differing} of ${fresh.length} compared responses differ .*: cited_urls data\\[\\]\\.citations`),
  );

  await upstream.deviate({ alter, laterMs: 7 * HOUR_MS });
  const old = await compare();
  expect(new Set(old.map(({ verdict }) => verdict))).not.toContain('differs');
  expect(old.find(({ verdict }) => verdict === 'skipped')?.detail).toContain('in the 420 minutes since');
  expect(received).toHaveLength(1);

  await upstream.deviate({
    laterMs: 7 * HOUR_MS,
    alter: (body) => {
      for (const row of rowsOf(body)) row['title'] = 'Another title';
      return body;
    },
  });
  const titles = (await compare()).filter(({ verdict }) => verdict === 'differs');
  expect(new Set(titles.flatMap(({ fields }) => fields))).toEqual(new Set(['data[].title']));
  expect(titles.length).toBeGreaterThan(0);
});
