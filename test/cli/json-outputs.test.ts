import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { printDemoJson } from '../../src/cli/commands/start/demo-command.ts';
import { type JsonName, jsonOutputs, jsonSchemaOf } from '../../src/cli/json/json-outputs.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { createProgram } from '../../src/cli/program/program.ts';
import type { Demo } from '../../src/operations/demo.ts';
import { dataOperations } from '../../src/read/metrics/data-operations.ts';
import { expectJson } from '../support/json-outputs.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { worldClock } from '../support/worlds.ts';
import { serve, shareCli } from './helpers.ts';

const TESTS = join(import.meta.dirname, '..');
const names = Object.keys(jsonOutputs) as JsonName[];

/** Command lines for a synced workspace, run in this order. Other tests do not check their outputs. `BRAND` is replaced by the ID of the brand. */
const PRINTED: readonly (readonly [name: JsonName, line: string, expected?: object])[] = [
  ['endpoints', 'endpoints'],
  ['calibration', 'calibration'],
  ['compare', 'compare --requests 4'],
  ['describe table', 'describe responses'],
  ['metrics list', 'metrics list'],
  ['metrics describe', 'metrics describe visib'],
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
  ['export --output', 'export --since last --output workbook --format xlsx --tables brands'],
  ['export --all', 'export --all'],
  ['notify', 'notify'],
  ['notify --test', 'notify --test'],
  ['keys create', 'keys create laptop --expires 30d'],
  ['keys list', 'keys list'],
  ['keys revoke', 'keys revoke laptop'],
];

/** Command lines that name an option of the metrics layer wrongly, with the parameter and the message. */
const REFUSED: readonly (readonly [line: string, parameter: string, message: RegExp])[] = [
  ['explain visibilty', 'metric', /^metric is "visibilty"; allowed: .*; did you mean "visibility"\?$/],
  ['metrics query visibility --group-by engin', '--group-by', /^--group-by is "engin"; .*did you mean "engine"\?$/],
  ['metrics query visibility --engine chatgtp', '--engine', /^unknown engine "chatgtp"; allowed: /],
  ['changes --since 2999-01-01', '--since', /^--since is "2999-01-01"; allowed: a time up to now \(20/],
  ['opportunities --brand nobody', '--brand', /^unknown brand "nobody"; allowed: /],
];

const FAILING: readonly (readonly [line: string, message: string])[] = [
  ['opportunities --brand BRAND --from 2026-01-02 --to 2026-01-01', '--from is'],
  ['metrics query visibility --sql', '--json'],
  ['metrics query visibility --format csv', '--json'],
  ['cluster enqueue mine', 'queue'],
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
    await writeFile(
      join(workspace.folder, 'sightline.config.json'),
      JSON.stringify({ notify: [{ urlVariable: 'ALERTS_URL' }] }),
    );
  });
  afterAll(async () => {
    await receiver.close();
  });

  const run = (line: string): Promise<Finished> => {
    const args = line.split(' ').map((word) => (word === 'BRAND' ? brand : word));
    return runCommand([...args, '--json'], { cwd: workspace.folder, env, clock: worldClock() });
  };
  const print = async (name: JsonName, line: string): Promise<unknown[]> => {
    const { stdout, stderr } = await run(line);
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

  test('for sync, sync --all and status: with drift and with a limit', async () => {
    workspace.sandbox.setFaults([
      { kind: 'wrongtypes', match: '/prompts' },
      { kind: 'unknownfields', match: '/alerts' },
    ]);
    await print('sync --all', 'sync --all --only prompts alerts');
    workspace.sandbox.setFaults([]);
    await print('sync', 'sync --max-requests 1 --full --only prompts alerts');
    await print('status', 'status');
  });

  test('for demo', async () => {
    const stdout = new PassThrough();
    const result = { columns: [{ name: 'n', type: 'BIGINT' }], rows: [[7]] };
    const snapshot = { id: '20260101T000000Z' } as Demo['snapshot'];
    const ran: Demo = { workspace: 'demo', folder: '/data/demo', snapshot, answers: [{ title: 'How many?', result }] };
    await withTerminal({ stdout }, async () => printDemoJson(ran));
    expect(expectJson('demo', String(stdout.read()))).toEqual({
      workspace: 'demo',
      folder: '/data/demo',
      snapshotId: '20260101T000000Z',
      answers: [{ title: 'How many?', rows: [{ n: 7 }] }],
    });
  });

  async function expectError(line: string): Promise<{ readonly code: number | null; readonly error: object }> {
    const { code, stdout } = await run(line);
    expect(code, line).not.toBe(0);
    return { code, error: expectJson<{ error: object }>('error', stdout).error };
  }

  test.each(REFUSED)('for the error of %s', async (line, parameter, message) => {
    const error = { code: 'invalid_parameter', parameter, message: expect.stringMatching(message) };
    expect(await expectError(line)).toMatchObject({ code: 2, error });
  });

  test.each(FAILING)('for the error of %s, with %s', async (line, message) => {
    expect(JSON.stringify(await expectError(line))).toContain(message);
  });

  test('for all declared outputs, here or in another test', () => {
    const tests = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const text = tests.map((name) => readFileSync(join(TESTS, name), 'utf8')).join('\n');
    const derived = names.filter((name) => dataOperations.some(({ output }) => output === jsonOutputs[name].shape));
    const checked = [...PRINTED.map(([name]) => name), ...derived, ...names.filter((name) => isChecked(name, text))];
    expect(names.filter((name) => !checked.includes(name))).toEqual([]);
  });
});

// Whether a test passes an output with this name to a function that checks it.
function isChecked(name: JsonName, text: string): boolean {
  return new RegExp(`\\b(expectJson|print|json|linesOf|startedServer)(<[^(]*>)?\\((running, |\\s*)'${name}'`).test(
    text,
  );
}

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
