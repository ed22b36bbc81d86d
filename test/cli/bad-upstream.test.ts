import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandboxWorkspace, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { type ErrorCode, errorTable } from '../../src/base/errors.ts';
import type { Finished } from '../support/run-command.ts';
import { BRAND_HINT, expectRefusal, makeFolder, openCli, runCli, serve, until } from './helpers.ts';

// A distinctive value, so that it is found in any output.
const KEY = 'gsk_never_to_be_seen_0123456789';

interface Result extends Finished {
  readonly files: readonly string[];
}

const elsewhere: IncomingHttpHeaders[] = [];
let sandbox: WorkspaceSandbox;
let origin = '';
let elsewhereOrigin = '';
const closing: (() => Promise<unknown>)[] = [];
const results = new Map<string, Result>();

// The first part of the path selects the fault of the upstream.
const wrong: RequestListener = (request, response) => {
  const { authorization = '' } = request.headers;
  const kind = request.url?.split('/')[1];
  if (kind === 'page') response.setHeader('content-type', 'text/html').end('<!doctype html><title>Welcome</title>');
  else if (kind === 'list') response.end('{"hello": "world"}');
  else if (kind === 'moved') response.writeHead(308, { location: `${elsewhereOrigin}${request.url}` }).end();
  else if (kind === 'echo') response.writeHead(401).end(JSON.stringify({ error: { message: `no ${authorization}` } }));
  else if (kind === 'teapot') response.writeHead(418).end('{"error": {"message": "short and stout"}}');
  else if (kind === 'down') response.writeHead(500).end('<h1>oops</h1>');
  else response.writeHead(404).end('not here');
};

interface Case {
  readonly name: string;
  /** Returns the base URL, given the origin of the faulty upstream and the base URL of a correct one. */
  readonly url: (origin: string, right: string) => string;
  readonly args?: readonly string[];
  readonly code: ErrorCode;
  readonly says: readonly string[];
  readonly key?: 'right';
}

const cases: Case[] = [
  {
    name: 'no server listens',
    url: () => 'http://127.0.0.1:9/v1',
    code: 'unreachable',
    says: ['http://127.0.0.1:9', 'refused'],
  },
  { name: 'a web page', url: (o) => `${o}/page`, code: 'bad_answer', says: ['/brands', 'not JSON', '/page'] },
  { name: 'another API', url: (o) => `${o}/list`, code: 'bad_answer', says: ['/brands', 'no list', '/list'] },
  {
    name: 'no /v1',
    url: (_o, right) => right.replace('/v1', ''),
    key: 'right',
    code: 'not_found',
    says: ['/brands', '404', 'base URL is http'],
  },
  { name: 'a redirect', url: (o) => `${o}/moved`, code: 'refused', says: ['redirects /brands', '308', '/moved'] },
  {
    name: 'an unknown key',
    url: (_o, right) => right,
    code: 'unauthorized',
    says: ['401', 'The API key is invalid; the base URL is '],
  },
  { name: 'a message with the key', url: (o) => `${o}/echo`, code: 'unauthorized', says: ['401', 'gsk_…'] },
  { name: 'another refusal', url: (o) => `${o}/teapot`, code: 'refused', says: ['418', 'short and stout', '/teapot'] },
  { name: 'a broken server', url: (o) => `${o}/down`, code: 'upstream_failed', says: ['/brands', '500', '/down'] },
];

beforeAll(async () => {
  sandbox = await startSandboxWorkspace({ brands: 1, prompts: 2, days: 2, rateLimit: 10_000 });
  closing.push(() => sandbox.close());
  const upstream = await serve(wrong);
  const other = await serve((request, response) => {
    elsewhere.push(request.headers);
    response.end('[]');
  });
  closing.push(upstream.close, other.close);
  origin = upstream.origin;
  elsewhereOrigin = other.origin;
  await Promise.all(cases.map(perform));
});

afterAll(() => Promise.all(closing.map((close) => close())));

async function perform({ name, url, args = [], key }: Case): Promise<void> {
  const cwd = await makeFolder();
  const env = {
    SIGHTLINE_BASE_URL: url(origin, sandbox.baseUrl),
    SIGHTLINE_API_KEY: key === 'right' ? sandbox.key : KEY,
  };
  try {
    const finished = await runCli(['sync', '--json', ...args], { cwd, env });
    results.set(name, { ...finished, files: (await readdir(join(cwd, 'data', 'default'))).sort() });
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

describe('a sync with a faulty upstream ends with an error message', () => {
  test.each(cases)('$name', ({ name, code, says }) => {
    const { code: exit, stdout, stderr, files } = results.get(name) as Result;
    expectFailure({ code: exit, stdout, stderr }, code);
    const sentence = stderr.split('\n')[1];
    for (const part of says) expect(sentence).toContain(part);
    expect(stdout + stderr).not.toContain(KEY);
    // Only the warehouse with the failed run and its copy exist; no temporary files.
    expect(files).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
  });

  test('the key is not sent to the target of a redirect', () => {
    expect(results.get('a redirect')?.code).toBe(1);
    expect(elsewhere).toEqual([]);
  });
});

function expectFailure(finished: Pick<Finished, 'code' | 'stdout' | 'stderr'>, code: ErrorCode): void {
  const { stdout, stderr } = finished;
  const { exit, hint } = errorTable[code];
  expect(finished, stderr).toMatchObject({ code: exit });
  expect(stdout + stderr).not.toMatch(/\n\s+at /);
  const [summary, sentence = '', told, end] = stderr.split('\n');
  expect(summary).toMatch(/^sync failed: \d+ rows? inserted/);
  expect([told, end]).toEqual([hint, '']);
  const message = sentence.replace(/^sightline: /, '');
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] as string)).toMatchObject({ status: 'failed', error: { code, message, hint } });
}

describe('a workspace that has data already', () => {
  test('keeps them while its key has expired or its plan is missing, and resumes afterwards', async () => {
    const workspace = await openCli({ prompts: 2, days: 2 });
    const { sandbox: upstream, rows, run } = workspace;
    expect(await run('sync')).toMatchObject({ code: 0 });
    const counted = 'select count(*) as n from responses where _deleted_at is null';
    const [before] = await rows(counted);
    expect(Number(before?.['n'])).toBeGreaterThan(0);
    for (const [state, code, status] of [
      ['unplanned', 'plan_required', '403'],
      ['expired', 'unauthorized', '401'],
    ] as const) {
      upstream.setKey(upstream.key, state);
      const finished = await run('sync', '--json');
      expectFailure(finished, code);
      expect(finished.stderr).toContain(status);
    }
    expect(await rows(counted)).toEqual([before]);
    upstream.setKey(upstream.key, 'active');
    expect(await run('sync')).toMatchObject({ code: 0 });
  });

  test('rejects an unknown brand and lists the known ones with their names', async () => {
    const workspace = await openCli({ brands: 2, prompts: 1, days: 1 });
    const unknown = '00000000-0000-4000-8000-000000000000';
    const finished = await workspace.run('sync', '--json', '--brand', unknown);
    expectRefusal(finished, 'usage', true, BRAND_HINT);
    const brands = await workspace.rows('select id, name from brands');
    expect(brands).toHaveLength(2);
    const known = brands.map(({ id, name }) => `${name} (${String(id).slice(0, 8)})`);
    for (const part of [unknown, ...known]) expect(finished.stderr).toContain(part);
  });

  test('ends partial with exit code 3 when one list stays broken, and names it', async () => {
    const workspace = await openCli({ prompts: 1, days: 1, faults: [{ kind: '500', match: '/alerts' }] });
    const { code, stdout, stderr } = await workspace.run('sync', '--json');
    expect(code, stderr).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'partial', failures: [{ code: 'upstream_failed' }] });
    expect(stderr).toMatch(/^sync partial: /);
    expect(stderr).toMatch(/not finished: .*alerts.*500/);
    expect(stderr).not.toMatch(/\n\s+at /);
    workspace.sandbox.setFaults([]);
    expect(JSON.parse((await workspace.run('sync', '--json')).stdout)).toMatchObject({ status: 'complete' });
  });
});

describe('a warehouse that another process owns', () => {
  test('is rejected with exit code 4 and the command and process ID of the owner', async () => {
    const workspace = await openCli({ faults: [{ kind: 'hang', match: '/responses' }] });
    const holder = workspace.start('sync');
    await until('the sync is under way', () => workspace.sandbox.requests.length > 5);
    for (const command of ['sync', 'export']) {
      const { code, stdout, stderr } = await workspace.run(command, '--json');
      expect(code, stderr).toBe(errorTable.warehouse_locked.exit);
      const { error } = JSON.parse(stdout);
      expect(error).toMatchObject({ code: 'warehouse_locked', hint: errorTable.warehouse_locked.hint });
      expect(error.message).toContain(`\`sightline sync\` (process ${holder.process.pid}, since 20`);
      expect(error.message).toContain(join(workspace.data, 'warehouse.duckdb'));
      expect(stderr).toBe(`sightline: ${error.message}\n${error.hint}\n`);
    }
    expect(existsSync(join(workspace.data, 'owner.json')), 'the note of the owner is left to it').toBe(true);
    expect(existsSync(join(workspace.data, 'snapshots'))).toBe(false);
    holder.process.kill('SIGKILL');
    await holder.finished;
    workspace.sandbox.setFaults([]);
    expect(await workspace.run('sync')).toMatchObject({ code: 0 });
    expect(existsSync(join(workspace.data, 'owner.json'))).toBe(false);
  });
});
