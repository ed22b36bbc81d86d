import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/folders.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { rowsIn, runCli, serve, startCli } from './helpers.ts';

// Contains characters with a special meaning in patterns, JSON and URLs.
const KEY = 'gsk_distinctive.Key+0123/456789$&^=end';
const DISTINCTIVE = 'distinctive.Key';

test('the key appears only in the configured header of requests', async () => {
  const sandbox = await startStillSandbox({ brands: 1, prompts: 1, days: 1, key: KEY });
  onTestFinished(() => sandbox.close());
  const seen: IncomingHttpHeaders[] = [];
  const meanwhile: string[] = [];
  // This upstream repeats the key in an error.
  const proxy = await serve(async (request, response) => {
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
  onTestFinished(proxy.close);
  const cwd = await temporaryFolder();
  const header = 'x-api-key';
  const env = {
    ...NO_PROBES,
    SIGHTLINE_BASE_URL: `${proxy.origin}/v1`,
    SIGHTLINE_API_KEY: KEY,
    SIGHTLINE_KEY_HEADER: header,
  };
  const sync = startCli(['sync', '--json'], { cwd, env });
  const finished = await sync.finished;
  expect(finished.code, finished.stderr).toBe(3);
  expect(meanwhile.length, 'it was looked at while it ran').toBeGreaterThan(0);
  for (const found of meanwhile) expect(found).toMatch(/main\.js\0sync\0--json\0$/);
  expect(finished.stdout).toContain('gsk_…');
  const exported = await runCli(['export', '--json'], { cwd, env });
  expect(exported.code, exported.stderr).toBe(0);
  const recorded = await rowsIn(cwd, {}, "select error from sync.requests where error like '%gsk_%'");
  expect(recorded.length, 'the refusal is in the ledger').toBeGreaterThan(0);
  for (const { stdout, stderr } of [finished, exported]) expect(stdout + stderr).not.toContain(DISTINCTIVE);
  expect(JSON.stringify(recorded)).not.toContain(DISTINCTIVE);
  expect(filesWith(cwd)).toEqual([]);
  expect(seen.length).toBeGreaterThan(5);
  expect(new Set(seen.map((headers) => headers[header]))).toEqual(new Set([KEY]));
  expect(seen.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
});

function filesWith(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  if (files.length === 0) throw new Error('there is nothing to look into');
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(DISTINCTIVE));
}
