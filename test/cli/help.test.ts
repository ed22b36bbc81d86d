import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { COMPRESSIONS, fileSchema } from '../../src/base/config/config-file.ts';
import { errorTable } from '../../src/base/errors.ts';
import { visible } from '../../src/base/visible.ts';
import { FORMATS } from '../../src/cli/output/row-format.ts';
import { commandGroups, commands } from '../../src/cli/program/command-list.ts';
import { examplesOf, leavesOf, pathOf } from '../../src/cli/program/program-command.ts';
import { createProgram, parseArguments } from '../../src/cli/program/program.ts';
import { FILE_FORMATS } from '../../src/publish/snapshot/file-formats.ts';
import { LOG_LEVELS } from '../../src/serve/telemetry/server-log.ts';
import { testWith } from '../support/needs.ts';
import { ROOT } from '../support/root.ts';
import { expectRefusal, runCli } from './helpers.ts';

const program = await createProgram();
const leaves = leavesOf(program);
const surroundings = { cwd: tmpdir() };
const PAGE = fileURLToPath(new URL('dist/docs/sightline.1', ROOT));
const linters = [
  ['mandoc', '-Tlint', '-Werror'],
  ['groff', '-man', '-ww', '-z', '-Tutf8'],
] as const;
const linter = linters.find(([name]) => spawnSync(name, ['--version']).error === undefined);

/** The words of a command line; a shell would split and unquote it like this. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}

/** The paths of all members in a JSON Schema. A member of a workspace with the name of a setting of the file is that setting. */
function memberPaths(
  { properties = {}, additionalProperties, items, anyOf = [], oneOf = [] }: z.core.JSONSchema.BaseSchema,
  path = '',
): string[] {
  const inner = (schema: unknown, at: string): string[] => memberPaths(schema as z.core.JSONSchema.BaseSchema, at);
  return [
    ...Object.entries(properties).flatMap(([name, member]) => {
      const at = path === '' ? name : `${path}.${name}`;
      if (path.startsWith('workspaces.') && Object.hasOwn(fileSchema.shape, name)) return [];
      return [at, ...inner(member, at)];
    }),
    ...(typeof additionalProperties === 'object' ? inner(additionalProperties, `${path}.<name>`) : []),
    ...(items === undefined ? [] : inner(items, `${path}[]`)),
    ...[...anyOf, ...oneOf].flatMap((option) => inner(option, path)),
  ];
}

test.each(leaves.map((command) => ({ path: pathOf(command), command })))(
  '$path has help, a JSON Schema if it accepts --json, and two different examples that parse',
  async ({ path, command }) => {
    const { code, stdout, stderr } = await runCli([...path.split(' '), '--help'], surroundings);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.startsWith(`Usage: sightline ${path} `), stdout).toBe(true);
    expect(visible(stdout)).toBe(stdout);
    expect(await runCli(['help', ...path.split(' ')], surroundings)).toMatchObject({ code: 0, stdout });
    const schema = await runCli(['help', ...path.split(' '), '--schema'], surroundings);
    // Standard output of `mcp` carries the protocol, so its --json has no effect.
    if (command.options.some(({ long }) => long === '--json') && path !== 'mcp') {
      expect(JSON.parse(schema.stdout)).toHaveProperty('anyOf.0.title', expect.stringContaining(`sightline ${path}`));
    } else {
      expectRefusal(schema, 'usage', false);
      expect(schema.stderr).toContain(`${path} has no JSON output`);
    }
    const lines = examplesOf(command).map(([line]) => line);
    expect(new Set(lines).size).toBe(2);
    for (const line of lines) {
      const [program, ...words] = wordsOf(line);
      expect(program).toBe('sightline');
      // `sightline jobs` runs `jobs list`, and `metrics visibility` runs `metrics query visibility`.
      expect(
        [path, path.replace(/ (list|query)$/, '')].some((name) => `${words.join(' ')} `.startsWith(`${name} `)),
      ).toBe(true);
      expect(await parseArguments(words), line).not.toBeNull();
    }
  },
);

test('the examples are at the end of the help of a command, and a command with subcommands has the first of each', async () => {
  const { stdout } = await runCli(['sync', '--help'], surroundings);
  expect(stdout).toMatch(
    /\nExamples:\n {2}sightline sync\n {6}copy everything that has changed\n {2}sightline sync --only .*\n.*\n$/,
  );
  const group = await runCli(['state', '--help'], surroundings);
  for (const name of ['list', 'reset']) expect(group.stdout).toContain(`\n  sightline state ${name}`);
});

describe('the help', () => {
  test('lists each command once, in the groups start, use, operate and scale', async () => {
    const { stdout } = await runCli(['--help'], surroundings);
    const headings = commandGroups.map(({ title }) => stdout.indexOf(`\n${title}:\n`));
    expect(headings.every((at) => at > 0)).toBe(true);
    expect(headings).toEqual([...headings].sort((a, b) => a - b));
    for (const [index, { commands: listed }] of commandGroups.entries()) {
      const part = stdout.slice(headings[index], headings[index + 1]);
      for (const name of Object.keys(commands)) {
        expect(part.split(`\n  ${name} `).length - 1, `${name} in ${part}`).toBe(Object.hasOwn(listed, name) ? 1 : 0);
      }
    }
  });

  test.each([[], ...program.commands.filter(({ commands: below }) => below.length > 0).map((group) => [group.name()])])(
    'of %s begins with its usage, and is also printed by `help`',
    async (...path) => {
      const { code, stdout, stderr } = await runCli([...path, '--help'], surroundings);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.startsWith(`Usage: sightline ${path[0] ?? '[options]'}`), stdout).toBe(true);
      expect(visible(stdout)).toBe(stdout);
      expect(await runCli(['help', ...path], surroundings)).toMatchObject({ code: 0, stdout });
    },
  );

  test('--schema of a command with subcommands is an error that names them', async () => {
    const refused = await runCli(['help', 'state', '--schema'], surroundings);
    expectRefusal(refused, 'usage', false);
    expect(refused.stderr).toContain('help state --schema requires the name of a command; allowed: list, reset');
  });

  test('--errors lists every error code with its exit code and HTTP status', async () => {
    const { stdout } = await runCli(['help', '--errors'], surroundings);
    for (const code of Object.keys(errorTable)) expect(stdout).toMatch(new RegExp(`^${code} \\(exit \\d`, 'm'));
    expect(stdout).toContain('\nno_data (exit 1, HTTP 503)\n    The workspace has no data yet.\n');
    expectRefusal(await runCli(['help', 'sync', '--errors'], surroundings), 'usage', false);
  });

  test('--settings explains every setting of the file, and lists every variable that is read', async () => {
    const { stdout } = await runCli(['help', '--settings'], surroundings);
    const read = readdirSync(new URL('src/base/config/', ROOT)).flatMap(
      (name) => readFileSync(new URL(`src/base/config/${name}`, ROOT), 'utf8').match(/\bSIGHTLINE_[A-Z_]+\b/g) ?? [],
    );
    expect(read.length).toBeGreaterThan(20);
    for (const variable of read) expect(stdout).toMatch(new RegExp(`^(\\S+ \\()?${variable}\\)?\n {4}`, 'm'));
    expect(stdout).toMatch(
      /^connections \(SIGHTLINE_CONNECTIONS\)\n {4}.*\n {4}default: 8; allowed: a whole number from 1 to 64$/m,
    );
    expect(stdout).toMatch(/^destinations\.<name>\.kind\n.*\n {4}allowed: postgres, mysql, .* or iceberg$/m);
    const explained = stdout.split(/\n(?! )/).flatMap((entry) => /^(\S+)( \(\w+\))?\n {4}/.exec(entry)?.[1] ?? []);
    const paths = memberPaths(z.toJSONSchema(fileSchema, { unrepresentable: 'any' }));
    expect(paths).toContain('oauth.grants[].claims');
    expect(paths.filter((path) => !explained.includes(path))).toEqual(['keep', 'resources', 'calibration']);
    expectRefusal(await runCli(['help', '--settings', '--errors'], surroundings), 'usage', false);
  });

  test('shows the values that commands accept', () => {
    const shown = (name: string, flag: string): readonly string[] | undefined =>
      program.commands.find((command) => command.name() === name)?.options.find(({ long }) => long === flag)
        ?.argChoices;
    expect(shown('sql', '--format')).toEqual([...FORMATS, 'parquet']);
    expect(shown('export', '--format')).toEqual(Object.keys(FILE_FORMATS));
    expect(shown('export', '--compression')).toEqual(COMPRESSIONS);
    expect(shown('serve', '--log-level')).toEqual(LOG_LEVELS);
  });

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
    expect(await runCli(['--version'], surroundings)).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test('of an unknown command is an error with the nearest name', async () => {
    for (const [words, near] of [
      [['snyc'], 'sync'],
      [['state', 'rest'], 'reset'],
    ] as const) {
      const refused = await runCli(['help', ...words], surroundings);
      expectRefusal(refused, 'usage', false);
      expect(refused.stderr).toContain(`did you mean "${near}"?`);
    }
  });
});

describe('the manual page', () => {
  testWith(linter === undefined ? 'there is neither mandoc nor groff' : null)('has no error', () => {
    const [name, ...options] = linter as readonly [string, ...string[]];
    const checked = spawnSync(name, [...options, PAGE], { encoding: 'utf8' });
    expect(checked).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});
