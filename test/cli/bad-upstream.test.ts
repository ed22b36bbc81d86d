import { mkdir, readdir, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { type ErrorCode, errorTable } from '../../src/base/errors.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { expectJson } from '../support/json-outputs.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { startWorldSandbox } from '../support/worlds.ts';
import { BRAND_HINT, expectRefusal, makeFolder, openCli, serve } from './helpers.ts';

// A distinctive value, so that it is found in any output.
const KEY = 'gsk_never_to_be_seen_0123456789';

let sandbox: WorkspaceSandbox;
let elsewhere: Awaited<ReturnType<typeof serve>>;
let upstream: Awaited<ReturnType<typeof serve>>;
let strayed = 0;
let cwd: string;

/** Responses of wrong upstreams, by the first part of the path. */
const wrong: Readonly<Record<string, RequestListener>> = {
  page: (_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>Welcome</title>'),
  list: (_, response) => response.end('{"hello": "world"}'),
  moved: ({ url }, response) => response.writeHead(308, { location: `${elsewhere.origin}${url}` }).end(),
  echo: ({ headers }, response) =>
    response.writeHead(401).end(JSON.stringify({ error: { message: `no ${headers.authorization}` } })),
};

beforeAll(async () => {
  cwd = await makeFolder();
  await mkdir(join(cwd, 'data', 'default'), { recursive: true, mode: 0o700 });
  await createEmptyWarehouse(join(cwd, 'data', 'default', 'warehouse.duckdb'), { hasMarts: true });
  sandbox = await startWorldSandbox('tiny');
  upstream = await serve((request, response) => wrong[request.url?.split('/')[1] ?? '']?.(request, response));
  elsewhere = await serve((_request, response) => {
    strayed += 1;
    response.end('[]');
  });
});

afterAll(async () => {
  await Promise.all([sandbox, upstream, elsewhere].map((each) => each.close()));
  await rm(cwd, { recursive: true });
});

const WRONG = [
  ['no server listens', 'http://127.0.0.1:9/v1', 'unreachable', ['http://127.0.0.1:9', 'refused']],
  ['a web page', '/page', 'bad_answer', ['/brands', 'not JSON', '/page']],
  ['another API', '/list', 'bad_answer', ['/brands', 'no list', '/list']],
  ['a redirect', '/moved', 'refused', ['redirects /brands', '308', '/moved']],
  ['a message with the key', '/echo', 'unauthorized', ['401', 'gsk_…']],
  ['no /v1', 'ROOT', 'not_found', ['/brands', '404', 'base URL is http']],
  ['an unknown key', 'ROOT/v1', 'unauthorized', ['401', 'The API key is invalid; the base URL is ']],
] as const satisfies readonly (readonly [string, string, ErrorCode, readonly string[]])[];

/** Runs a command with a wrong upstream, and checks that it reveals no key, also not to the target of a redirect. */
async function runWith(url: string, ...args: string[]): Promise<Finished> {
  const root = sandbox.baseUrl.replace('/v1', '');
  const baseUrl = url.startsWith('/') ? upstream.origin + url : url.replace('ROOT', root);
  const env = { SIGHTLINE_BASE_URL: baseUrl, SIGHTLINE_API_KEY: url === 'ROOT' ? sandbox.key : KEY };
  const finished = await runCommand([...args, '--json'], { cwd, env });
  expect(finished.stdout + finished.stderr).not.toContain(KEY);
  expect(strayed).toBe(0);
  return finished;
}

test.for(WRONG)('a plan with %s fails with a message', async ([, url, code, says]) => {
  const finished = await runWith(url, 'plan');
  expectRefusal(finished, code, true);
  for (const part of says) expect(finished.stderr.split('\n')[0]).toContain(part);
  expect(await readdir(cwd)).toEqual(['data']);
});

test('a sync with an unknown key ends with a summary and the message', async () => {
  const { code, stdout, stderr } = await runWith('ROOT/v1', 'sync');
  const { exit, hint } = errorTable.unauthorized;
  expect(code, stderr).toBe(exit);
  const [summary, sentence = '', told, end] = stderr.split('\n');
  expect(summary).toMatch(/^sync failed: 0 rows inserted/);
  expect(sentence).toContain('The API key is invalid; the base URL is ');
  expect([told, end]).toEqual([hint, '']);
  const message = sentence.replace(/^sightline: /, '');
  expect(expectJson('sync', stdout)).toMatchObject({
    status: 'failed',
    error: { code: 'unauthorized', message, hint },
  });
  // Only the warehouse with the failed run and its replica exist; no temporary files.
  const files = await readdir(join(cwd, 'data', 'default'));
  expect(files.sort()).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
});

test('an unknown brand of a new workspace is rejected with the known ones and their names', async () => {
  const { run, rows } = await openCli({ brands: 2, prompts: 1, days: 1 });
  const unknown = '00000000-0000-4000-8000-000000000000';
  const finished = await run('sync', '--json', '--brand', unknown);
  expectRefusal(finished, 'usage', true, BRAND_HINT);
  const brands = await rows('select id, name from brands');
  expect(brands).toHaveLength(2);
  const known = brands.map(({ id, name }) => `${name} (${String(id).slice(0, 8)})`);
  for (const part of [unknown, ...known]) expect(finished.stderr).toContain(part);
});
