import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { startLiar } from '../hostile/liar.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectRefusal, openCli, runCli } from './helpers.ts';

const ATTACK = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f\rover\u202e';
const UNSAFE = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

/** Appends the attack to every text that is not an ID, time, number, cursor or address. */
function poison(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => poison(item, name));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, poison(item, key)]));
  }
  const isText = typeof value === 'string' && !/^([0-9a-f]{8}-|\d|https?:)/i.test(value) && name !== 'nextCursor';
  return isText ? `${value}${ATTACK}` : value;
}

/** Runs a command in this process and returns its output. */
async function run(args: readonly string[], cwd: string, environment: Record<string, string>, isTTY = false) {
  const chunks: Buffer[] = [];
  const collect = (): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk);
        done();
      },
    });
  const output = { stdout: Object.assign(collect(), { isTTY }), stderr: collect() };
  const { signal } = new AbortController();
  const code = await runCommandLine(args, signal, { ...output, folder: cwd, variables: environment });
  return { code, text: Buffer.concat(chunks).toString() };
}

test('control characters in texts from upstream do not reach the terminal', async () => {
  const { sandbox, folder, env } = await openCli({ prompts: 1, days: 1 });
  const jobs = { nightly: { steps: [{ do: 'sync', only: ['alerts'] }, 'verify'] } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ jobs }));
  const liar = await startLiar(sandbox.baseUrl);
  liar.tell((exchange) => {
    if (exchange.path.endsWith('/alerts')) {
      exchange.status = 400;
      exchange.body = Buffer.from(JSON.stringify({ error: { code: 'bad', message: `refused ${ATTACK}` } }));
    } else if (exchange.body.length > 0) exchange.edit((body) => poison(body));
  });
  const environment = { ...env, SIGHTLINE_BASE_URL: liar.baseUrl };
  const shown: string[] = [];
  const check = async (...args: string[]) => {
    const { code, text } = await run(args, folder, environment);
    expect(text, args.join(' ')).not.toMatch(UNSAFE);
    if (text.includes('\\u001b')) shown.push(args[0] ?? '');
    return { code, text };
  };
  const synced = await check('sync');
  expect(synced.code).toBe(3);
  expect(synced.text).toMatch(/^sync partial: /m);
  expect(synced.text).toMatch(/not finished: .*alerts.*400/);
  await check('status');
  await check('status', '--json');
  const { runId } = JSON.parse((await check('runs', '--json')).text)[0] as { runId: string };
  await check('runs', runId);
  const records = ['quarantine', 'drift', 'requests'].map((name) => `select * from sync.${name}`);
  await check('sql', ['select * from prompts', ...records].join(';'));
  await check('sql', `select error('${ATTACK}')`);
  await check('jobs', 'run', 'nightly');
  await check('jobs');
  await check('describe', 'prompts');
  await check('sync', '--brand', ATTACK);
  expect(new Set(shown), 'the attack was in what these print').toEqual(new Set(['sync', 'status', 'sql', 'jobs']));
  // CSV has no escapes. It is exact except on a terminal.
  const exported = ['export', '--tables', 'brands', '--format', 'csv', '--output', '-'];
  for (const args of [['sql', 'select name from brands', '--format', 'csv'], exported]) {
    expect((await run(args, folder, environment)).text).toContain(ATTACK);
    const { text } = await run(args, folder, environment, true);
    expect(text).toContain('\\u001b]0;owned');
    expect(text.replaceAll('\r\n', '\n')).not.toMatch(UNSAFE);
  }
});

test('a stack trace is printed only with --verbose', async () => {
  const folder = await temporaryFolder();
  const brief = await runCli(['status'], { cwd: folder });
  expectRefusal(brief, 'no_data', false);
  for (const args of [
    ['--verbose', 'status'],
    ['status', '--verbose'],
  ]) {
    const verbose = await runCli(args, { cwd: folder });
    expect(verbose.code).toBe(1);
    expect(verbose.stderr.startsWith(brief.stderr)).toBe(true);
    expect(verbose.stderr).toMatch(/\n\s+at /);
  }
});
