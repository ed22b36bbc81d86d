import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JsonName, jsonOutputs, jsonSchemaOf } from '../../src/cli/json/json-outputs.ts';
import { createProgram } from '../../src/cli/program/program.ts';
import { disabledJobs } from '../support/jobs.ts';
import { expectJson } from '../support/json-outputs.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { worldClock } from '../support/worlds.ts';
import { serve, shareCli } from './helpers.ts';

const root = join(import.meta.dirname, '../..');
const names = Object.keys(jsonOutputs) as JsonName[];

/** Outputs that other tests check, because they need a queue or a process. */
const ELSEWHERE: Partial<Record<JsonName, string>> = {
  demo: 'test/packaging/tarball.test.ts',
  sandbox: 'test/packaging/tarball.test.ts',
  'cluster enqueue': 'test/cli/worker.test.ts',
  open: 'test/cli/open.test.ts',
  serve: 'test/cli/open.test.ts',
  'serve --role api': 'test/cli/open.test.ts',
  'sessions list': 'test/cli/open.test.ts',
  'sessions revoke': 'test/cli/open.test.ts',
};
/** Outputs of tests of this file besides the table. */
const IN_TESTS: Partial<Record<JsonName, string>> = {
  error: '',
  'runs id': '',
  sync: '',
  'sync --all': '',
  verify: '',
  'jobs run': '',
  sql: '',
};
const EVERY_STEP = ['sync', 'verify', 'export', 'retention', 'compact', 'check', 'report'];

/** Command lines on a synced workspace, in this order. `BRAND` is the ID of its brand. */
const PRINTED: readonly (readonly [name: JsonName, line: string, expected?: object])[] = [
  ['plan', 'plan'],
  ['endpoints', 'endpoints'],
  ['status', 'status'],
  ['status --all', 'status --all'],
  ['runs', 'runs'],
  ['doctor', 'doctor --all'],
  ['state list', 'state list'],
  ['calibration', 'calibration'],
  ['compare', 'compare --requests 4'],
  ['connect', 'connect'],
  ['describe', 'describe'],
  ['describe table', 'describe responses'],
  ['metrics list', 'metrics list'],
  ['metrics describe', 'metrics describe visib'],
  ['metrics values', 'metrics values entity --brand BRAND --search a --limit 2'],
  ['metrics query', 'metrics query visibility --by engine --grain week'],
  [
    'metrics export',
    'metrics export',
    {
      folder: null,
      files: expect.arrayContaining([{ path: 'models/metrics/sightline_metrics.yml', text: expect.any(String) }]),
    },
  ],
  [
    'metrics export',
    'metrics export --output model',
    { folder: 'model', files: expect.arrayContaining([expect.objectContaining({ text: null })]) },
  ],
  ['report', 'report'],
  ['explain', 'explain visibility --brand BRAND'],
  ['changes', 'changes --since 30d'],
  ['opportunities', 'opportunities --brand BRAND'],
  ['export --output', 'export --output files --format csv'],
  ['export --output', 'export --since last --output workbook --format xlsx --tables brands'],
  ['export', 'export'],
  ['export --all', 'export --all'],
  [
    'export --all',
    'export --all --since last --output changes --tables brands',
    { changes: { since: null }, path: expect.stringContaining('changes/') },
  ],
  ['jobs next', 'jobs next'],
  ['jobs list', 'jobs'],
  ['notify', 'notify'],
  ['notify --test', 'notify --test'],
  ['worker', 'worker --once --log-level silent'],
  ['cluster status', 'cluster status'],
  ['backup', 'backup copy.duckdb'],
  ['restore', 'restore copy.duckdb --data-dir other'],
  ['replay', 'replay --into replayed.duckdb --only brands'],
  ['state reset', 'state reset --yes --resource alerts'],
  ['keys create', 'keys create laptop --expires 30d'],
  ['keys list', 'keys list'],
  ['keys revoke', 'keys revoke laptop'],
  ['init', 'init --yes'],
];

const WITHOUT_DATA = ['status', 'verify', 'export', 'backup b.duckdb', 'connect', 'report', 'replay', 'runs', 'sql x'];

/** Command lines that name an option of the metrics layer wrongly, with the parameter and the message. */
const REFUSED: readonly (readonly [line: string, parameter: string, message: RegExp])[] = [
  ['explain visibilty', 'metric', /^metric is "visibilty"; allowed: .*; did you mean "visibility"\?$/],
  ['metrics query visibilty', 'measures', /^measures is "visibilty"; .*did you mean "visibility"\?$/],
  ['metrics query visibility --by engin', '--by', /^--by is "engin"; .*did you mean "engine"\?$/],
  ['metrics query visibility --engine chatgtp', '--engine', /^unknown engine "chatgtp"; allowed: /],
  ['metrics query visibility --from 2999-01-01', '--from', /^--from is "2999-01-01"; allowed: 20/],
  ['changes --since 2999-01-01', '--since', /^--since is "2999-01-01"; allowed: a time up to now \(20/],
  ['changes --brand nobody', '--brand', /^unknown brand "nobody"; allowed: /],
  ['opportunities --brand nobody', '--brand', /^unknown brand "nobody"; allowed: /],
];

const REVERSED = '--from 2026-01-02 is after --to 2026-01-01';
const FAILING: readonly (readonly [line: string, message: string])[] = [
  ['metrics query visibility --brand BRAND --from 2026-01-02 --to 2026-01-01', REVERSED],
  ['explain visibility --brand BRAND --from 2026-01-02 --to 2026-01-01', REVERSED],
  ['opportunities --brand BRAND --from 2026-01-02 --to 2026-01-01', REVERSED],
  ['metrics query visibility --sql', '--json'],
  ['metrics query visibility --format csv', '--json'],
  ['report --output a-file', '--output'],
  ['cluster enqueue mine', 'queue'],
  ['sync --only nothing', 'nothing'],
  ['unknown', 'unknown'],
];

describe('the JSON Schemas', () => {
  test('exist for every command that accepts --json, and for no other', async () => {
    // Standard output of `mcp` carries the protocol, so its --json has no effect.
    const commands = new Set(commandsWithJson(await createProgram()).filter((path) => path !== 'mcp'));
    const described = new Set(names.filter((name) => name !== 'error').map((name) => commandOf(name, commands)));
    expect([...described].sort()).toEqual([...commands].sort());
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
  const workspace = shareCli({ world: 'tiny' });
  let receiver: Awaited<ReturnType<typeof serve>>;
  let env: Readonly<Record<string, string>>;
  let brand: string;

  beforeAll(async () => {
    brand = workspace.sandbox.world.brands[0]?.id ?? '';
    receiver = await serve((_request, response) => void response.writeHead(204).end());
    env = { ...workspace.env, ALERTS_URL: receiver.origin };
    const steps = EVERY_STEP.map((step) => (step === 'sync' ? { do: step, only: ['brands'] } : step));
    const jobs = { ...disabledJobs, mine: { cron: '15 2 * * *', steps } };

    const settings = { jobs, notify: [{ urlVariable: 'ALERTS_URL' }] };
    await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify(settings));
    await writeFile(join(workspace.folder, 'a-file'), '');
  });
  afterAll(async () => {
    await receiver.close();
  });

  const run = (...args: string[]): Promise<Finished> =>
    runCommand([...args, '--json'], { cwd: workspace.folder, env, clock: worldClock() });
  const print = async (name: JsonName, line: string): Promise<unknown[]> => {
    const { stdout, stderr } = await run(...line.split(' ').map((word) => (word === 'BRAND' ? brand : word)));
    expect(stdout, stderr).not.toBe('');
    return stdout
      .trimEnd()
      .split('\n')
      .map((each) => expectJson(name, each));
  };

  test.for(PRINTED)('for %s: %s', async ([name, line, expected]) => {
    const printed = await print(name, line);
    if (expected !== undefined) expect(printed).toMatchObject([expected]);
  });

  test('for runs id: the newest run', async () => {
    const [runs] = (await print('runs', 'runs')) as { runId: string }[][];
    await print('runs id', `runs ${runs?.[0]?.runId}`);
  });

  test('for jobs run: a job with every step', async () => {
    const [ran] = (await print('jobs run', 'jobs run mine')) as { steps: { step: string; result: unknown }[] }[];
    expect(ran?.steps.map(({ step }) => step)).toEqual(EVERY_STEP);
    expect(ran?.steps.filter(({ result }) => result === null)).toEqual([]);
    await print('jobs list', 'jobs');
  });

  test('for sync, sync --all, verify and status: after changes, with drift, with another key, and with a limit', async () => {
    const { sandbox } = workspace;
    sandbox.world.advance({ days: 1, editedResponses: 2, deletedResponses: 1 });
    sandbox.setFaults([
      { kind: 'wrongtypes', match: '/prompts' },
      { kind: 'unknownfields', match: '/alerts' },
    ]);
    await print('sync --all', 'sync --all --only prompts alerts');
    sandbox.setFaults([]);
    sandbox.setKey(sandbox.key, 'disabled');
    expect(await print('sync', 'sync')).toMatchObject([{ status: 'failed', error: { code: 'unauthorized' } }]);
    sandbox.setKey(sandbox.key, 'active');
    await print('sync', 'sync --max-requests 1 --full --only prompts alerts');
    await print('verify', 'verify --fresh --repair');
    await print('status', 'status');
  });

  test('for sql: numbers that JSON does not have are texts', async () => {
    const { stdout } = await run('sql', `SELECT 1e400 AS up, [-1e400] AS down, ': -Infinity' AS text`);
    expect(expectJson('sql', stdout)).toEqual([{ up: 'Infinity', down: ['-Infinity'], text: ': -Infinity' }]);
  });

  async function expectError(line: string): Promise<{ readonly code: number | null; readonly error: object }> {
    const { code, stdout } = await run(...line.split(' ').map((word) => (word === 'BRAND' ? brand : word)));
    expect(code, line).not.toBe(0);
    return { code, error: expectJson<{ error: object }>('error', stdout).error };
  }

  test.each(WITHOUT_DATA)('for the error of %s without data', async (line) => {
    await expectError(`${line} --data-dir nowhere`);
  });

  test.each(REFUSED)('for the error of %s', async (line, parameter, message) => {
    const error = { code: 'invalid_parameter', parameter, message: expect.stringMatching(message) };
    expect(await expectError(line)).toMatchObject({ code: 2, error });
  });

  test.each(FAILING)('for the error of %s, with %s', async (line, message) => {
    expect(JSON.stringify(await expectError(line))).toContain(message);
  });

  test('for all declared outputs, here or in another test', () => {
    const path = fileURLToPath(import.meta.url);
    for (const [name, file] of Object.entries({ ...ELSEWHERE, ...IN_TESTS })) {
      const text = readFileSync(file === '' ? path : join(root, file), 'utf8');
      expect(text, `${file} checks ${name}`).toMatch(new RegExp(`(expectJson(<[^(]*>)?|print)\\('${name}'`));
    }
    const checked = new Set([...PRINTED.map(([name]) => name), ...Object.keys(ELSEWHERE), ...Object.keys(IN_TESTS)]);
    expect([...checked].sort()).toEqual([...names].sort());
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
