import { describe, expect, test } from 'vitest';
import type { WorkspaceFlags } from '../../src/cli/context.ts';
import type { Invocation } from '../../src/cli/invocation.ts';
import { invokedAs } from '../../src/cli/output/invoked-as.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { allowanceOf, allowanceOptions, workspaceOptions } from '../../src/cli/program/common-options.ts';
import { type AddTo, defineCommand } from '../../src/cli/program/define-command.ts';
import { argument, flag, integer, list, oneOf, text, withDefault } from '../../src/cli/program/option-kinds.ts';
import { ProgramCommand } from '../../src/cli/program/program-command.ts';

const options = {
  ...workspaceOptions,
  limit: withDefault(integer('<number>', 'rows', 1, 100), '20'),
  only: list('<names...>', 'only these'),
  format: oneOf('<format>', 'format', ['csv', 'json']),
  force: flag('overwrite'),
};

/** Parses a command line of a command named `sample` and returns the invocation. */
const examples = [
  ['sightline sample a.csv', 'read a file'],
  ['sightline sample a.csv --force', 'replace it'],
] as const;

async function parse(sample: AddTo, ...argv: string[]): Promise<Invocation> {
  const chosen: Invocation[] = [];
  const program = new ProgramCommand().exitOverride();
  const parts = { parse: async () => null, programFor: async () => program };
  const choose = (json: boolean, action: Invocation['action']): void => void chosen.push({ json, action });
  sample(program.command('sample'), { ...parts, choose });
  await program.parseAsync(['sample', ...argv], { from: 'user' });
  return chosen[0] as Invocation;
}

test('the types of the values follow from the declaration', async () => {
  let read: unknown;
  const sample = defineCommand({
    examples,
    arguments: { file: argument('<file>', 'file'), other: argument('[other]', 'another file') },
    options,
    run: async ({ file, other, limit, only, format, force, ...unread }, begin) => {
      const { flags, json } = begin(unread);
      const typed: {
        file: string;
        other: string | null;
        limit: number;
        only: readonly string[] | null;
        format: 'csv' | 'json' | null;
        force: boolean;
        flags: WorkspaceFlags;
        json: boolean;
      } = { file, other, limit, only, format, force, flags, json };
      // @ts-expect-error A limit is a number.
      const wrong: string = limit;
      read = { ...typed, wrong };
      return 0;
    },
  });
  const { action, json } = await parse(sample, 'a.csv', '--only', 'x,y', '--format', 'csv', '-w', 'acme', '--json');
  expect(await action(AbortSignal.timeout(60_000))).toBe(0);
  const expected = { file: 'a.csv', other: null, limit: 20, wrong: 20, only: ['x', 'y'], format: 'csv', force: false };
  expect(read).toEqual({ ...expected, flags: { workspace: 'acme', json: true }, json: true });
  expect(json).toBe(true);
});

const unreadOption = defineCommand({
  examples,
  options: { ...options, name: text('<name>', 'name') },
  run: async ({ limit, only, format, force, ...unread }, begin) => {
    // @ts-expect-error `name` is declared but not read.
    begin(unread);
    return [limit, only, format, force].length;
  },
});

const unreadArgument = defineCommand({
  examples,
  arguments: { file: argument('<file>', 'file') },
  options: workspaceOptions,
  run: async (unread, begin) => {
    // @ts-expect-error `file` is declared but not read.
    begin(unread);
    return 0;
  },
});

const undeclared = defineCommand({
  examples,
  options: workspaceOptions,
  // @ts-expect-error `missing` is read but not declared.
  run: async ({ missing, ...unread }, begin) => {
    begin(unread);
    return missing === undefined ? 0 : 1;
  },
});

test('commands that do not compile, because they leave a value unread, are parsed like others', async () => {
  const signal = AbortSignal.timeout(60_000);
  expect(await (await parse(unreadOption, '--name', 'x')).action(signal)).toBe(4);
  expect(await (await parse(unreadArgument, 'a.csv')).action(signal)).toBe(0);
  expect(await (await parse(undeclared)).action(signal)).toBe(0);
});

test.each([
  [['--limit', '0'], '--limit is "0"; allowed: a whole number from 1 to 100'],
  [['--only', ','], '--only is empty; allowed: one or more names'],
  [['--format', 'xml'], '--format is "xml"; allowed: csv, json'],
])('%j is rejected while the command line is parsed', async (argv, message) => {
  await expect(parse(unreadOption, ...argv)).rejects.toMatchObject({ code: 'usage', message });
});

/** The deadline of `--until` for a command given at a time and in a time zone. */
async function deadline(until: string, timeZone: string, now: string): Promise<string> {
  const given = { maxRequests: null, maxMinutes: null, until: allowanceOptions.until.parse(until, '--until') };
  const { allowance } = await withTerminal({ timeZone }, async () => allowanceOf(given, Date.parse(now)));
  return new Date(allowance?.deadline ?? Number.NaN).toISOString();
}

describe('--until', () => {
  test.each([
    ['06:00', 'UTC', '2026-11-21T02:00:00Z', '2026-11-21T06:00:00.000Z'],
    ['06:00', 'UTC', '2026-11-21T06:00:00Z', '2026-11-22T06:00:00.000Z'],
    ['06:00', 'Europe/Berlin', '2026-11-21T02:00:00Z', '2026-11-21T05:00:00.000Z'],
    ['23:30', 'Asia/Kolkata', '2026-11-21T17:59:00Z', '2026-11-21T18:00:00.000Z'],
    ['06:00', 'America/New_York', '2026-11-21T22:00:00Z', '2026-11-22T11:00:00.000Z'],
    // Daylight saving time begins at 02:00 and ends at 03:00.
    ['02:30', 'Europe/Berlin', '2026-03-29T00:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['02:30', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['02:30', 'Europe/Berlin', '2026-10-25T00:45:00Z', '2026-10-25T01:30:00.000Z'],
  ])('%s in the time zone %s, given at %s, is %s', async (until, timeZone, now, expected) => {
    expect(await deadline(until, timeZone, now)).toBe(expected);
  });

  test.each(['24:00', '6:00', '06:60', 'noon', ''])('rejects %j', async (until) => {
    await expect(deadline(until, 'UTC', '2026-11-21T00:00:00Z')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('allowed: a time of day'),
    });
  });
});

test.each([
  ['an installed command', '/usr/local/bin/sightline', 'sightline'],
  ['a project', '/srv/acme/node_modules/.bin/sightline', 'node_modules/.bin/sightline'],
  ['a checkout', '/srv/acme/dist/src/cli/main.js', 'node dist/src/cli/main.js'],
  ['a checkout elsewhere', '/srv/my code/dist/src/cli/main.js', 'node "../my code/dist/src/cli/main.js"'],
])('the command in the next steps of init and demo starts %s', async (_, script, command) => {
  expect(await withTerminal({ folder: '/srv/acme' }, async () => invokedAs(script))).toBe(command);
});
