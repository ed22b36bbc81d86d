import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { NO_PROBES } from '../support/no-probes.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { makeFolder, runCli, startCli } from './helpers.ts';

// Contains characters with a special meaning in patterns, JSON and URLs.
const KEY = 'gsk_distinctive.Key+0123/456789$&^=end';
const DISTINCTIVE = 'distinctive.Key';

test.each(['authorization', 'x-api-key'])('the key sent as %s appears only in requests', async (header) => {
  const sandbox = await startStillSandbox({ brands: 1, prompts: 1, days: 1, key: KEY });
  onTestFinished(() => sandbox.close());
  const seen: IncomingHttpHeaders[] = [];
  const meanwhile: string[] = [];
  // This upstream repeats the key in an error.
  const proxy = createServer(async (request, response) => {
    seen.push(request.headers);
    if (request.url?.includes('/alerts')) {
      response
        .writeHead(400)
        .end(JSON.stringify({ error: { code: 'bad', message: `key ${KEY} may not ${request.url}` } }));
      return;
    }
    if (request.url?.includes('/forum')) {
      meanwhile.push(readFileSync(`/proc/${sync.process.pid}/cmdline`, 'utf8'), ...filesWith(cwd));
    }
    const answer = await fetch(new URL(request.url ?? '', sandbox.baseUrl), { headers: { 'x-api-key': KEY } });
    response.writeHead(answer.status, { 'content-type': 'application/json', 'x-ratelimit-limit': '10000' });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const cwd = await makeFolder();
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`;
  const env = { ...NO_PROBES, SIGHTLINE_BASE_URL: baseUrl, SIGHTLINE_API_KEY: KEY, SIGHTLINE_KEY_HEADER: header };
  const sync = startCli(['sync', '--json'], { cwd, env });
  const finished = await sync.finished;
  expect(finished.code, finished.stderr).toBe(3);
  expect(meanwhile.length, 'it was looked at while it ran').toBeGreaterThan(0);
  for (const found of meanwhile) expect(found).toMatch(/main\.js\0sync\0--json\0$/);
  expect(finished.stdout).toContain('gsk_…');
  const exported = await runCli(['export', '--json'], { cwd, env });
  expect(exported.code, exported.stderr).toBe(0);
  const asked = await runCli(['sql', "select error from sync.requests where error like '%gsk_%'", '--json'], { cwd });
  expect(JSON.parse(asked.stdout).length, 'the refusal is in the ledger').toBeGreaterThan(0);
  for (const { stdout, stderr } of [finished, exported, asked]) expect(stdout + stderr).not.toContain(DISTINCTIVE);
  expect(filesWith(cwd)).toEqual([]);
  const sent = header === 'authorization' ? `Bearer ${KEY}` : KEY;
  expect(seen.length).toBeGreaterThan(5);
  expect(new Set(seen.map((headers) => headers[header]))).toEqual(new Set([sent]));
});

function filesWith(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  if (files.length === 0) throw new Error('there is nothing to look into');
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(DISTINCTIVE));
}
