import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSandboxWorkspace, type WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import { parseRecord } from '../../src/budget/send-record.ts';
import { type Child, startChild } from '../support/child.ts';
import { temporaryFolder } from '../support/folders.ts';
import { hastyClock } from './budget-clock.ts';
import { mostInAnyMinute } from './simulation.ts';

const LIMIT = 30;

// Starts a sandbox that counts by the shared hasty clock, and returns a function that starts child processes.
async function start(options: Partial<WorkspaceOptions> = {}) {
  const size = { brands: 1, prompts: 1, days: 1 };
  const limits = { rateLimit: LIMIT, limiterClock: () => hastyClock.monotonic() };
  const sandbox = await startSandboxWorkspace({ ...size, ...limits, ...options });
  onTestFinished(() => sandbox.close());
  const folder = await temporaryFolder();
  const ask = (requests: number, connections: number): Child => {
    const file = new URL('budget-child.ts', import.meta.url);
    return startChild(
      file,
      JSON.stringify({ kind: 'file', folder }),
      sandbox.baseUrl,
      sandbox.key,
      String(requests),
      String(connections),
    );
  };
  return { sandbox, folder, ask };
}

async function messagesOf(child: Child): Promise<string[]> {
  const messages: string[] = [];
  for (let message = await child.message(); message !== null; message = await child.message()) messages.push(message);
  return messages;
}

test('three processes with one key never get a 429', async () => {
  const { sandbox, folder, ask } = await start({ countRefused: true, latencyMs: 2 });
  const children = [ask(70, 8), ask(70, 3), ask(40, 1)];
  const messages = await Promise.all(children.map(messagesOf));
  expect(messages.map((all) => [all.length, all.at(-1)])).toEqual([
    [72, 'done'],
    [72, 'done'],
    [42, 'done'],
  ]);
  expect(sandbox.counts.byStatus).toEqual({ 200: 180 });
  expect(mostInAnyMinute(sandbox.requests.map(({ atMs }) => atMs))).toBeLessThanOrEqual(LIMIT);
  // All claims have ended.
  const records = readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .flatMap((line) => parseRecord(line) ?? []);
  const claimed = new Set(records.flatMap(({ kind, id }) => (kind === 'claim' ? [id] : [])));
  const answered = records.flatMap(({ kind, id }) => (kind === 'answer' ? [id] : []));
  expect(claimed.size).toBe(180);
  expect(new Set(answered)).toEqual(claimed);
});

test('processes that add records concurrently read the same order across many files', async () => {
  const folder = await temporaryFolder();
  const file = new URL('order-child.ts', import.meta.url);
  const each = 1_500;
  const children = ['a', 'b', 'c'].map((name) => startChild(file, folder, name, String(each), String(3 * each)));
  for (const child of children) expect(await child.message()).toBe('open');
  for (const { process } of children) process.send('go');
  const read = await Promise.all(children.map((child) => child.message()));
  expect(new Set(read).size).toBe(1);
  expect(read[0]).toMatch(`${3 * each} ${3 * each} `);
  // Each record counts in one file, and many files were used.
  expect(readdirSync(folder).length).toBeGreaterThan(50);
});
