import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type JsonName, jsonOutputs, jsonSchemaOf, schemaFile } from '../../src/cli/json/json-outputs.ts';
import { createProgram } from '../../src/cli/program/program.ts';
import { disabledJobs } from '../support/jobs.ts';
import { expectJson } from '../support/json-outputs.ts';
import type { Finished } from '../support/run-command.ts';
import { type CliWorkspace, openCliFor, runCli, serve, startCli, until } from './helpers.ts';

const root = join(import.meta.dirname, '../..');
const names = Object.keys(jsonOutputs) as JsonName[];

/** Outputs that other tests check, because they need a queue or take long. */
const ELSEWHERE: Partial<Record<JsonName, string>> = {
  demo: 'test/packaging/tarball.test.ts',
  'cluster enqueue': 'test/cli/worker.test.ts',
  open: 'test/cli/open.test.ts',
  'sessions list': 'test/cli/open.test.ts',
  'sessions revoke': 'test/cli/open.test.ts',
};
const EVERY_STEP = ['sync', 'verify', 'export', 'retention', 'compact', 'check', 'report'];

describe('the JSON Schemas', () => {
  test('exist for every command that accepts --json, and for no other', async () => {
    // Standard output of `mcp` carries the protocol, so its --json has no effect.
    const commands = new Set(commandsWithJson(await createProgram()).filter((path) => path !== 'mcp'));
    const described = new Set(names.filter((name) => name !== 'error').map((name) => commandOf(name, commands)));
    expect([...described].sort()).toEqual([...commands].sort());
  });

  test('in docs/json are those of the declarations, and the package contains them', () => {
    const written = readdirSync(join(root, 'docs/json')).filter((name) => name.endsWith('.json'));
    expect(written.sort()).toEqual(names.map(schemaFile).sort());
    for (const name of names) {
      expect(JSON.parse(readFileSync(join(root, 'docs/json', schemaFile(name)), 'utf8'))).toEqual(jsonSchemaOf(name));
    }
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
    expect(files).toContain('docs');
  });

  test('reject an undeclared member only in their strict form', () => {
    const failure = { error: { code: 'usage', message: 'wrong', hint: 'none' } };
    expectJson('error', JSON.stringify(failure));
    expect(() => expectJson('error', JSON.stringify({ ...failure, more: 1 }))).toThrow(/additional properties/);
    expect(() => expectJson('error', JSON.stringify({ error: { code: 1 } }))).toThrow(/must be string/);
    expect(JSON.stringify(jsonSchemaOf('status'))).not.toContain('"additionalProperties":false');
  });
});

describe('the output with --json has the declared members', () => {
  const seen = new Set<JsonName>(['error']);
  let workspace: CliWorkspace & { close: () => Promise<void> };
  let env: Readonly<Record<string, string>>;
  let receiver: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    workspace = await openCliFor({ days: 6 });
    receiver = await serve((_request, response) => void response.writeHead(204).end());
    env = { ...workspace.env, ALERTS_URL: receiver.origin };
    const jobs = { ...disabledJobs, mine: { cron: '15 2 * * *', steps: EVERY_STEP } };
    const settings = { jobs, notify: [{ urlVariable: 'ALERTS_URL' }] };
    await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify(settings));
  });
  afterAll(async () => {
    await workspace.close();
    await receiver.close();
  });

  const run = (args: readonly string[]): Promise<Finished> =>
    runCli([...args, '--json'], { cwd: workspace.folder, env });
  const print = async (name: JsonName, ...args: string[]): Promise<unknown[]> => {
    const { stdout, stderr } = await run(args);
    expect(stdout, stderr).not.toBe('');
    seen.add(name);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => expectJson(name, line));
  };
  const failing = async (...args: string[]): Promise<void> => {
    const { code, stdout } = await run(args);
    expect(code).not.toBe(0);
    expectJson('error', stdout);
  };

  test('before the first sync, for errors', async () => {
    for (const command of [
      'status',
      'verify',
      'export',
      'backup copy.duckdb',
      'connect',
      'report',
      'replay',
      'runs',
      'sql x',
    ]) {
      await failing(...command.split(' '));
    }
    await failing('sync', '--only', 'nothing');
    await failing('unknown');
  });

  test('for a sync and what reports on it', async () => {
    await print('plan', 'plan');
    await print('endpoints', 'endpoints');
    await print('sync', 'sync');
    workspace.sandbox.world.advance({ days: 1, editedResponses: 2, deletedResponses: 1 });
    workspace.sandbox.setFaults([{ kind: 'wrongtypes' }, { kind: 'unknownfields' }]);
    await print('sync', 'sync');
    workspace.sandbox.setFaults([]);
    workspace.sandbox.setKey(workspace.sandbox.key, 'disabled');
    expect(await print('sync', 'sync')).toMatchObject([{ status: 'failed', error: { code: 'unauthorized' } }]);
    await failing('plan');
    workspace.sandbox.setKey(workspace.sandbox.key, 'active');
    await print('sync --all', 'sync', '--all');
    await print('sync', 'sync', '--max-requests', '1', '--full');
    await print('verify', 'verify', '--fresh', '--repair');
    await print('status', 'status');
    await print('status --all', 'status', '--all');
    const [[{ runId } = { runId: '' }] = []] = (await print('runs', 'runs')) as { runId: string }[][];
    await print('runs id', 'runs', runId);
    await print('doctor', 'doctor');
    await print('doctor', 'doctor', '--all', '--offline');
    await print('state list', 'state', 'list');
  });

  test('for commands that read the data', async () => {
    await print('calibration', 'calibration');
    await print('compare', 'compare', '--requests', '4');
    await print('sql', 'sql', 'SELECT 1 AS one, [1, 2] AS list, NULL AS nothing');
    const infinite = await run(['sql', `SELECT 1e400 AS up, [-1e400] AS down, ': -Infinity' AS text`]);
    expect(JSON.parse(infinite.stdout)).toEqual([{ up: 'Infinity', down: ['-Infinity'], text: ': -Infinity' }]);
    await print('connect', 'connect');
    await print('describe', 'describe');
    await print('describe table', 'describe', 'responses');
    await print('metrics list', 'metrics', 'list');
    await print('metrics describe', 'metrics', 'describe', 'visib');
    const brand = workspace.sandbox.world.brands[0]?.id ?? '';
    await print('metrics values', 'metrics', 'values', 'entity', '--brand', brand, '--search', 'a', '--limit', '2');
    await print('metrics query', 'metrics', 'query', 'visibility', '--by', 'engine', '--grain', 'week');
    const printed = await print('metrics export', 'metrics', 'export', '--format', 'osi');
    expect(printed).toMatchObject([{ folder: null, files: [{ path: 'sightline.yaml', text: expect.any(String) }] }]);
    const written = await print('metrics export', 'metrics', 'export', '--format', 'cube', '--output', 'model-of-cube');
    expect(written).toMatchObject([{ folder: 'model-of-cube', files: [{ text: null }] }]);
    await print('report', 'report');
    await print('explain', 'explain', 'visibility', '--brand', brand);
    await print('changes', 'changes', '--since', '30d');
    await print('opportunities', 'opportunities', '--brand', brand);
    await print('export --output', 'export', '--output', 'files', '--format', 'csv');
    await print('export --output', 'export', '--since', 'last', '--output', 'workbook', '--format', 'xlsx');
    await print('export', 'export');
    await print('export --all', 'export', '--all');
    const changed = await print('export --all', 'export', '--all', '--since', 'last', '--output', 'changes');
    expect(changed).toMatchObject([{ changes: { since: null }, path: expect.stringContaining('changes/') }]);
  });

  test('for requests of the metrics layer that name an option wrongly', async () => {
    const [brand] = workspace.sandbox.world.brands;
    const refusals: (readonly [readonly string[], string, RegExp])[] = [
      [['explain', 'visibilty'], 'metric', /^metric is "visibilty"; allowed: .*; did you mean "visibility"\?$/],
      [['metrics', 'query', 'visibilty'], 'measures', /^measures is "visibilty"; .*did you mean "visibility"\?$/],
      [['metrics', 'query', 'visibility', '--by', 'engin'], '--by', /^--by is "engin"; .*did you mean "engine"\?$/],
      [['metrics', 'query', 'visibility', '--engine', 'chatgtp'], '--engine', /^unknown engine "chatgtp"; allowed: /],
      [['metrics', 'query', 'visibility', '--from', '2999-01-01'], '--from', /^--from is "2999-01-01"; allowed: 20/],
      [['changes', '--since', '2999-01-01'], '--since', /^--since is "2999-01-01"; allowed: a time up to now \(20/],
      [['changes', '--brand', 'nobody'], '--brand', /^unknown brand "nobody"; allowed: /],
      [['opportunities', '--brand', 'nobody'], '--brand', /^unknown brand "nobody"; allowed: /],
    ];
    for (const [args, parameter, message] of refusals) {
      const { code, stdout } = await run(args);
      expect(code, stdout).toBe(2);
      expectJson('error', stdout);
      expect(JSON.parse(stdout)).toMatchObject({
        error: { code: 'invalid_parameter', parameter, message: expect.stringMatching(message) },
      });
    }
    const reversed = ['--from', '2026-01-02', '--to', '2026-01-01'];
    for (const command of [['metrics', 'query', 'visibility'], ['explain', 'visibility'], ['opportunities']]) {
      const { code, stderr } = await run([...command, '--brand', brand?.id ?? '', ...reversed]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--from 2026-01-02 is after --to 2026-01-01')]);
    }
    await failing('metrics', 'query', 'visibility', '--sql');
    await failing('metrics', 'query', 'visibility', '--format', 'csv');
    await writeFile(join(workspace.folder, 'a-file'), '');
    const unwritable = await run(['report', '--output', 'a-file']);
    expect([unwritable.code, unwritable.stderr]).toEqual([1, expect.stringContaining('--output')]);
  });

  test('for jobs, notifications and workers', async () => {
    await print('jobs next', 'jobs', 'next');
    const [ran] = (await print('jobs run', 'jobs', 'run', 'mine')) as { steps: { step: string; result: unknown }[] }[];
    expect(ran?.steps.map(({ step }) => step)).toEqual(EVERY_STEP);
    expect(ran?.steps.filter(({ result }) => result === null)).toEqual([]);
    await print('jobs list', 'jobs');
    await print('notify', 'notify');
    await print('notify --test', 'notify', '--test');
    await print('worker', 'worker', '--once', '--log-level', 'silent');
    await print('cluster status', 'cluster', 'status');
    await failing('cluster', 'enqueue', 'mine');
  });

  test('for files, state, keys and settings', async () => {
    await print('backup', 'backup', 'copy.duckdb');
    await print('restore', 'restore', 'copy.duckdb', '--data-dir', 'other');
    await print('replay', 'replay', '--into', 'replayed.duckdb');
    await print('state export', 'state', 'export', 'state.json');
    await print('state import', 'state', 'import', 'state.json', '--yes');
    await print('state reset', 'state', 'reset', '--yes', '--resource', 'alerts');
    await print('keys create', 'keys', 'create', 'laptop', '--expires', '30d');
    await print('keys list', 'keys', 'list');
    await print('keys revoke', 'keys', 'revoke', 'laptop');
    await print('completion', 'completion', 'bash');
    await print('init', 'init', '--yes', '--base-url', workspace.sandbox.baseUrl);
  });

  test('for servers', async () => {
    await first('serve', 'serve', '--port', '0', '--no-jobs');
    await first('serve --role api', 'serve', '--role', 'api', '--port', '0');
    await first('sandbox', 'sandbox', '--port', '0', '--days', '1');
  });

  // Validates the line that a server prints when it listens.
  async function first(name: JsonName, ...args: string[]): Promise<void> {
    const { process: child, finished } = startCli([...args, '--json'], { cwd: workspace.folder, env });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await finished;
    });
    let printed = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await until(`${name} listens`, () => printed.includes('\n'));
    expectJson(name, printed);
    seen.add(name);
  }

  test('for all declared outputs, here or in another test', () => {
    for (const [name, path] of Object.entries(ELSEWHERE)) {
      const checks = new RegExp(`expectJson(<[^(]*>)?\\('${name}'`);
      expect(checks.test(readFileSync(join(root, path), 'utf8')), `${path} checks ${name}`).toBe(true);
    }
    expect([...seen, ...Object.keys(ELSEWHERE)].sort()).toEqual([...names].sort());
  });
});

function commandsWithJson(command: Command, above: readonly string[] = []): string[] {
  return command.commands.flatMap((each) => {
    const path = [...above, each.name()];
    const own = each.options.some(({ long }) => long === '--json') ? [path.join(' ')] : [];
    return [...own, ...commandsWithJson(each, path)];
  });
}

// The longest command with which a name begins: `jobs list` for `jobs list`, `runs` for `runs id`.
function commandOf(name: string, commands: ReadonlySet<string>): string | undefined {
  const words = name.split(' ');
  return words.map((_word, index) => words.slice(0, words.length - index).join(' ')).find((path) => commands.has(path));
}
