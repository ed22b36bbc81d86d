import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.ts';
import { removedCommands } from '../../src/base/removed-names.ts';
import { pathOf } from '../../src/cli/program/program-command.ts';
import { createProgram, parseArguments } from '../../src/cli/program/program.ts';
import { temporaryFolder } from '../support/folders.ts';
import { runCommand } from '../support/run-command.ts';
import { expectRefusal, serve } from './helpers.ts';

const SYNC_USAGE =
  'Usage: sightline sync [options]; for example `sightline sync`, `sightline sync --only responses --brand acme --from 2026-11-01`. `sightline help sync` has all options.';

/** Values that no option with this placeholder accepts; the others reject an empty value. */
const WRONG: Readonly<Record<string, readonly string[]>> = {
  '<number>': ['', 'many', '-5', '99999999999'],
  '<rows>': ['', 'many', '0'],
  '<seconds>': ['', '1.5', '999999999'],
  '<MB>': ['', '0', '1e3'],
  '<port>': ['http', '70000', '-1'],
  '[number]': ['0', '26', 'x'],
  '<day>': ['', '2026-02-30', '2026-1-1'],
  '<when>': ['', 'soon'],
  '<time|snapshot|last>': ['', '2026-02-30', 'yesterday'],
  '<list>': ['typo=1', '500=often'],
};

function optionsBelow(command: Command): { command: Command; option: Option }[] {
  const own = command.options.filter(({ required, optional }) => required || optional);
  return [...own.map((option) => ({ command, option })), ...command.commands.flatMap(optionsBelow)];
}

test('every option of every command rejects wrong values with its name while the command line is parsed', async () => {
  const all = optionsBelow(await createProgram());
  expect(all.length).toBeGreaterThan(200);
  const accepted: string[] = [];
  for (const { command, option } of all) {
    const { long, flags, argChoices } = option;
    const placeholder = /[<[].*$/.exec(flags)?.[0] ?? '';
    const wrong = argChoices === undefined ? (WRONG[placeholder] ?? ['']) : ['no-such-choice', ''];
    const values = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
    for (const value of wrong) {
      const parsed = parseArguments([...pathOf(command).split(' '), ...values, `${long}=${value}`]);
      const error = await parsed.catch((thrown: unknown) => thrown);
      const message = error instanceof Error ? error.message : 'accepted';
      if (!new RegExp(`^${long}[: ]`).test(message)) accepted.push(`${pathOf(command)} ${long}=${value}: ${message}`);
    }
  }
  expect(accepted).toEqual([]);
});

test.each([
  [
    'keys create --name bi',
    "unknown option '--name'",
    'keys create [options] <name>; for example `sightline keys create ',
  ],
  [
    'metrics list --brand x',
    "unknown option '--brand'",
    'metrics list [options]; for example `sightline metrics list`',
  ],
  ['mcp --print-config', 'argument missing', '`sightline mcp --print-config claude-desktop`'],
])('%s is rejected with the right form of the command', async (line, problem, form) => {
  const { code, stderr } = await runCommand(line.split(' '), { cwd: await temporaryFolder() });
  expect(code).toBe(2);
  const [sentence, hint] = stderr.split('\n');
  expect(sentence).toContain(problem);
  expect(hint).toMatch(/^Usage: sightline .*`sightline help \w+( \w+)?` has all options\.$/);
  expect(hint).toContain(form);
});

test.each(removedCommands)('the removed $name is rejected with its replacement', async ({ name, instead }) => {
  for (const more of [[], ['file.json'], ['--json']]) {
    const rejected = parseArguments([...name.split(' '), ...more]);
    await expect(rejected).rejects.toMatchObject({ code: 'usage', message: `\`${name}\` was removed`, hint: instead });
  }
});

/** An API key. A distinctive value, so that it is found in any output. */
const KEY = 'gsk_never_to_be_seen_0123456789';
const SETTINGS = { SIGHTLINE_API_KEY: KEY, SIGHTLINE_BASE_URL: 'http://127.0.0.1:9/v1' };
const https = { baseUrl: 'https://a.example/v1', apiKeyVariable: 'KEY_A' };
const WAREHOUSE = 'data/default/warehouse.duckdb';

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** Texts of files; null for a folder. */
  readonly files?: Readonly<Record<string, string | null>>;
  /** The hint if it is not the one of the code. */
  readonly hint?: string;
  /** Texts besides the key that must not appear. */
  readonly hides?: string;
}

/** A command line, the code of its error, and texts of the message. `PORT` is a port that is in use. */
type BadInput = readonly [line: string, code: ErrorCode, says: readonly string[], surroundings?: Surroundings];

const values: BadInput[] = [
  ['sync --from 2026-03-02 --to 2026-03-01', 'usage', ['--from 2026-03-02 is after --to 2026-03-01', 'allowed']],
  ['sync --to 2026-03-01', 'usage', ['--to requires --from']],
  ['sync --only brands,responces', 'usage', ['unknown resource "responces"; allowed: ', 'did you mean "responses"?']],
  ['sync --forse', 'usage', ['--forse'], { hint: SYNC_USAGE }],
  ['snyc', 'usage', ['snyc', 'Did you mean sync?', 'export', 'sql']],
  ['--data-dir x sync', 'usage', ['--data-dir']],
  ['sync now', 'usage', ['too many arguments'], { hint: SYNC_USAGE }],
  ['sync --data-dir', 'usage', ['--data-dir'], { hint: SYNC_USAGE }],
  ['sql', 'usage', ['the query is empty']],
  ['sql --list-saved x', 'usage', ['QUERY and --list-saved cannot be combined']],
  ['sql x --format xml', 'usage', ['--format is "xml"', 'table, csv, json']],
  ['sandbox --brands -1', 'usage', ['--brands is "-1"', '0 to 200']],
  ['sandbox --port PORT', 'usage', ['--port PORT is in use', 'free port']],
  ['demo --serve --port PORT', 'usage', ['--port PORT is in use; allowed: a free port, or 0 for any']],
  ['sync --base-url nowhere', 'config_invalid', ['--base-url is "nowhere"', 'https']],
  ['report --from 2999-01-01', 'usage', ['--from is "2999-01-01"; allowed: today (', 'or an earlier day']],
  ['report --link http://', 'usage', ['--link is "http://"; allowed: an address with http or https']],
];

const inEnvironment = (env: Surroundings['env'], says: readonly string[], hides = KEY): BadInput => {
  return ['sync', 'config_invalid', says, { env: { ...SETTINGS, ...env }, hides }];
};
const inFile = (content: unknown, says: readonly string[]): BadInput => {
  return ['sync', 'config_invalid', says, { files: { 'sightline.config.json': JSON.stringify(content) } }];
};

const settings: BadInput[] = [
  inEnvironment({ SIGHTLINE_API_KEY: ' ' }, ['SIGHTLINE_API_KEY is not set', 'gsk_']),
  inEnvironment({ SIGHTLINE_BASE_URL: '' }, ['SIGHTLINE_BASE_URL is not set', 'https']),
  inEnvironment(
    { SIGHTLINE_BASE_URL: 'https://someone:hunter2@api.example.com/v1' },
    ['SIGHTLINE_BASE_URL contains a user name or password'],
    'hunter2',
  ),
  inEnvironment({ SIGHTLINE_BASE_URL: `https://a.example/v1?key=${KEY}` }, [
    'SIGHTLINE_BASE_URL is',
    'without a query',
  ]),
  inFile({ budgetshare: 1 }, ['"budgetshare"', 'budgetShare']),
  inFile({ apiKey: KEY }, ['sightline.config.json', '"apiKey"']),
  inFile([], ['not a JSON object', 'workspaces']),
  inFile({ workspaces: { '../x': https } }, ['"../x"', 'lower-case letters']),
];

const files: BadInput[] = [
  ['sync', 'config_invalid', ['.env', 'cannot read'], { files: { '.env': null } }],
  // The folder of the workspace is not created.
  [
    'sync --workspace defualt',
    'usage',
    ['unknown workspace "defualt"', 'did you mean "default"?'],
    { hint: '`sightline init --workspace defualt` creates it.' },
  ],
  ['sync', 'folder_unwritable', ['data/default', /EEXIST|ENOTDIR/.source], { files: { data: 'a file' } }],
  ['sync', 'folder_unwritable', ['data/default'], { files: { 'data/default': 'a file' } }],
  ['sync --data-dir /proc/sightline', 'folder_unwritable', ['/proc/sightline/default']],
  ...['status', 'verify', 'export', 'backup b.duckdb', 'connect', 'report', 'runs', 'sql x'].map((line): BadInput => [
    line,
    'no_data',
    ['default', 'data/default'],
  ]),
  ['replay', 'no_data', ['data/default']],
  ['demo', 'usage', ['data/demo', '--data-dir'], { files: { 'data/demo/precious.txt': 'mine' } }],
  ...[`not a database, whatever its name is ${'.'.repeat(5000)}`, '', null].flatMap((content) =>
    ['sync', 'export', 'sql x'].map((line): BadInput => [
      line,
      'warehouse_invalid',
      [WAREHOUSE],
      { files: { [WAREHOUSE]: content } },
    ]),
  ),
];

describe('a wrong value is rejected with a message, a hint and an exit code, and no files are left', () => {
  let occupied: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    occupied = await serve((_request, response) => response.end());
  });
  afterAll(() => occupied.close());

  test.for([...values, ...settings, ...files])('%s: %s', async ([line, code, says, surroundings = {}]) => {
    const { env = SETTINGS, files: given = {}, hint, hides } = surroundings;
    const withPort = (text: string): string => text.replace('PORT', new URL(occupied.origin).port);
    const cwd = await temporaryFolder();
    for (const [path, content] of Object.entries(given)) {
      await mkdir(join(cwd, path, content === null ? '.' : '..'), { recursive: true });
      if (content !== null) await writeFile(join(cwd, path), content);
    }
    const before = (await readdir(cwd, { recursive: true })).sort();
    const isJson = !line.startsWith('demo');
    const [first = '', ...rest] = line.split(' ').map(withPort);
    // A later position could be parsed as the value of an option.
    const args = first.startsWith('-') ? [first, ...rest, '--json'] : [first, ...(isJson ? ['--json'] : []), ...rest];
    const finished = await runCommand(args, { cwd, env });
    expectRefusal(finished, code, isJson, hint);
    const output = finished.stdout + finished.stderr;
    for (const hidden of [KEY, ...(hides === undefined ? [] : [hides])]) expect(output).not.toContain(hidden);
    for (const part of says.map(withPort)) expect(finished.stderr.split('\n')[0]).toMatch(toPattern(part));
    expect((await readdir(cwd, { recursive: true })).sort()).toEqual(before);
  });
});

function toPattern(text: string): RegExp {
  return new RegExp(text.includes('|') ? text : text.replace(/[.*+?^${}()[\]\\]/g, '\\$&'));
}
