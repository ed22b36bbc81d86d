import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandboxWorkspace, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { meantBy } from '../../src/operations/connection-test.ts';
import { withVariables } from '../../src/operations/setup.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectJson } from '../support/json-outputs.ts';
import { testWith } from '../support/needs.ts';
import { type Finished, MAIN, runCommand } from '../support/run-command.ts';
import { serve } from './helpers.ts';

const SCRIPT = '/usr/bin/script';

let sandbox: WorkspaceSandbox;
beforeAll(async () => {
  sandbox = await startSandboxWorkspace({ brands: 1, prompts: 2, days: 5, rateLimit: 10_000 });
});
afterAll(() => sandbox.close());

/** Runs `init` with the key on standard input. */
function init(cwd: string, key: string, ...args: string[]): Promise<Finished> {
  return runCommand(['init', '--key-stdin', '--base-url', sandbox.baseUrl, ...args], { cwd, input: `${key}\n` });
}

const read = (folder: string, name: string): Promise<string> => readFile(join(folder, name), 'utf8');

describe('init without a terminal', () => {
  test('writes the tested settings with private permissions, and keeps existing ones', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, '.git'));
    await writeFile(join(folder, '.gitignore'), 'node_modules');
    await writeFile(
      join(folder, 'real.env'),
      '# mine\nOTHER="two\nlines"\nexport SIGHTLINE_BASE_URL=https://old.example/v1\n',
    );
    await chmod(join(folder, 'real.env'), 0o644);
    await symlink('real.env', join(folder, '.env'));
    const { origin } = new URL(sandbox.baseUrl);
    const { code, stdout, stderr } = await init(folder, sandbox.key, '--base-url', `${origin}/`, '--json');
    expect(code, stderr).toBe(0);
    expect(expectJson('init', stdout)).toEqual({
      workspace: 'default',
      baseUrl: sandbox.baseUrl,
      brands: [expect.any(String)],
      rateLimit: 10_000,
      written: ['.gitignore', '.env'],
      plan: {
        requests: expect.any(Number),
        least: expect.any(Number),
        most: expect.any(Number),
        minutes: expect.any(Number),
      },
    });
    expect(stdout + stderr).not.toContain(sandbox.key);
    expect(await read(folder, 'real.env')).toBe(
      `# mine\nOTHER="two\nlines"\nSIGHTLINE_BASE_URL=${sandbox.baseUrl}\nSIGHTLINE_API_KEY=${sandbox.key}\n`,
    );
    expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600);
    expect(await read(folder, '.gitignore')).toBe('node_modules\n.env\n/data/\n');
    const ignoresContents = '.env\n/data/*\n!/data/README.md\n';
    await writeFile(join(folder, '.gitignore'), ignoresContents);
    const again = await init(folder, sandbox.key, '--no-plan');
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('are unchanged') });
    expect(await read(folder, '.gitignore')).toBe(ignoresContents);
    const synced = await runCommand(['status', '--json'], { cwd: folder });
    expect(synced.code, synced.stderr).toBe(0);
  });

  test('adds a workspace with a separate key variable, and does not overwrite another key', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'sightline.config.json'), '{ "connections": 2, "dataDir": "store" }');
    const acmeOf = (...flags: string[]) => init(folder, sandbox.key, '--workspace', 'acme', ...flags);
    const added = await acmeOf('--no-plan', '--budget-share', '0.5');
    expect(added.code, added.stderr).toBe(0);
    const acme = { baseUrl: sandbox.baseUrl, apiKeyVariable: 'ACME_KEY', budgetShare: 0.5 };
    expect(JSON.parse(await read(folder, 'sightline.config.json'))).toEqual({
      connections: 2,
      dataDir: 'store',
      workspaces: { acme },
    });
    const files = [await read(folder, '.env'), await read(folder, 'sightline.config.json')];
    await writeFile(join(folder, '.env'), 'ACME_KEY=gsk_another\n');
    for (const flags of [[], ['--yes'], ['--data-dir', 'elsewhere']]) {
      const refused = await acmeOf(...flags);
      expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('nothing was written') });
      expect(await read(folder, '.env')).toBe('ACME_KEY=gsk_another\n');
    }
    const forced = await acmeOf('--force', '--no-plan');
    expect(forced.code, forced.stderr).toBe(0);
    expect([await read(folder, '.env'), await read(folder, 'sightline.config.json')]).toEqual(files);
  });

  test('distinguishes errors, prints the next step, and writes nothing', async () => {
    const folder = await temporaryFolder();
    const page = await serve((_request, response) => response.end('<html>'));
    const unpaid = await serve((_request, response) => response.writeHead(403).end('{}'));
    const { origin } = new URL(sandbox.baseUrl);
    const cases: [url: string, key: string, code: number, says: string[]][] = [
      [sandbox.baseUrl, 'gsk_wrong', 1, ['401', 'Check the key']],
      [sandbox.baseUrl, 'no-key', 2, ['SIGHTLINE_API_KEY', 'gsk_']],
      [`${origin}/elsewhere`, sandbox.key, 1, ['404', 'not as this API']],
      [page.origin, sandbox.key, 1, ['not JSON', 'not from this API']],
      [unpaid.origin, sandbox.key, 1, ['403', 'no active plan']],
      [origin.replace('http:', 'https:'), sandbox.key, 1, ['does not speak TLS']],
      ['http://127.0.0.1:1', sandbox.key, 1, ['refused', 'network']],
      ['http://api.example.com', sandbox.key, 2, ['https']],
      ['https://', sandbox.key, 2, ['--base-url']],
      ['https://me:T0PASSWORD@api.example.com:port/v1', sandbox.key, 2, ['--base-url is "…@api']],
      ['', sandbox.key, 2, ['--base-url']],
    ];
    for (const [url, key, code, says] of cases) {
      const finished = await init(folder, key, '--base-url', url);
      expect(finished, url).toMatchObject({ code, stdout: '' });
      for (const text of says) expect(finished.stderr).toContain(text);
      expect(finished.stderr).not.toContain(key);
      expect(finished.stderr).not.toContain('T0PASSWORD');
    }
    const nobody = await runCommand(['init', '--base-url', sandbox.baseUrl, '--json'], { cwd: folder });
    expect(JSON.parse(nobody.stdout).error.code).toBe('usage');
    expect(await init(folder, sandbox.key, '--workspace', 'No Name')).toMatchObject({ code: 2 });
    expect(await init(folder, sandbox.key, '--budget-share', 'half')).toMatchObject({ code: 2 });
    await Promise.all([page.close(), unpaid.close()]);
    expect((await readdir(folder)).filter((name) => name !== 'data')).toEqual([]);
  });

  test('does not copy a key that is stored in a separate file', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'key'), `${sandbox.key}\n`, { mode: 0o600 });
    const env = { SIGHTLINE_API_KEY_FILE: 'key' };
    const done = await runCommand(['init', '--base-url', sandbox.baseUrl, '--no-plan'], { cwd: folder, env });
    expect(done.code, done.stderr).toBe(0);
    expect(await read(folder, '.env')).toBe(`SIGHTLINE_BASE_URL=${sandbox.baseUrl}\n`);
    const synced = await runCommand(['plan', '--offline', '--json'], { cwd: folder, env });
    expect(synced.code, synced.stderr).toBe(0);
  });
});

describe('init on a terminal', () => {
  /** Answers questions on a pseudo terminal. `end` is the output of the terminal. */
  async function converse(cwd: string, answers: readonly [question: string, answer: string][]): Promise<Finished> {
    const command = `exec '${process.execPath}' '${MAIN}' init`;
    const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], {
      cwd,
      env: { PATH: process.env['PATH'], TERM: 'dumb' },
    });
    const left = [...answers];
    let shown = '';
    let from = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      const [next] = left;
      const at = next === undefined ? -1 : shown.indexOf(next[0], from);
      if (next === undefined || at < 0) return;
      from = at + next[0].length;
      left.shift();
      child.stdin.write(next[1]);
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, signal: null, stdout: shown, stderr: '' };
  }

  testWith(existsSync(SCRIPT) ? null : `there is no ${SCRIPT}`)(
    'asks again after a wrong key, does not show keys, and offers to estimate the first sync',
    async () => {
      const folder = await temporaryFolder();
      const { host } = new URL(sandbox.baseUrl);
      const { code, stdout } = await converse(folder, [
        ['Root of the API', 'http://127.0.0.1:1\r'],
        ['hidden', `${sandbox.key}\r`],
        ['Root of the API', '\r'],
        ['Root of the API', `${host}\r`],
        ['first sync?', '\r'],
      ]);
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('connection refused');
      expect(stdout).toContain('The first sync will take');
      expect(stdout).not.toContain(sandbox.key);
      expect(await read(folder, '.env')).toContain(`SIGHTLINE_API_KEY=${sandbox.key}\n`);
      const stopped = await converse(folder, [
        ['Root of the API', '\r'],
        ['hidden', '\u0003'],
      ]);
      expect(stopped.code, stopped.stdout).toBe(130);
      expect((await readdir(folder)).sort()).toEqual(['.env', 'data']);
    },
  );
});

test.each([
  ['api.example.com', ['https://api.example.com/v1', 'https://api.example.com']],
  ['https://api.example.com/v1/', ['https://api.example.com/v1']],
  ['https://api.example.com/v2/openapi.json', ['https://api.example.com/v2']],
  ['localhost:4010', ['http://localhost:4010/v1', 'http://localhost:4010']],
  ['https://api.example.com/v1?x=1', ['https://api.example.com/v1?x=1']],
])('%s is tried as %j', (given, meant) => {
  expect(meantBy(given)).toEqual(meant);
});

test('variables are set exactly once, keep the others, and may contain any text', () => {
  const text = 'A=1\r\nKEY=old # said\nB="x\nKEY=2"\nKEY=older';
  expect(() => withVariables(text, { KEY: 'new' })).toThrow('by hand');
  expect(withVariables('A=1\nKEY=old # said\nKEY=older\n\n# end', { KEY: 'gsk_#"x' })).toBe(
    `A=1\nKEY='gsk_#"x'\n\n# end\n`,
  );
  expect(withVariables('A=1\r\nexport KEY="old"\r\nB=2', { KEY: 'gsk_a', URL: 'http://x:1' })).toBe(
    'A=1\r\nKEY=gsk_a\r\nB=2\r\nURL=http://x:1\r\n',
  );
  expect(withVariables('', { KEY: 'gsk_a', URL: 'http://x:1/v1' })).toBe('KEY=gsk_a\nURL=http://x:1/v1\n');
});
