import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Argument, Command, Option } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { COMPRESSIONS } from '../../src/base/config/config-file.ts';
import { complete } from '../../src/cli/completion/completion-candidates.ts';
import { formatCompletion, SHELLS, type Shell, wordsOf } from '../../src/cli/completion/shells.ts';
import { FORMATS } from '../../src/cli/output/row-format.ts';
import { createProgram } from '../../src/cli/program/program.ts';
import { LOG_LEVELS } from '../../src/serve/telemetry/server-log.ts';
import { FILE_FORMATS } from '../../src/snapshot/file-formats.ts';
import { testWith } from '../support/needs.ts';
import { MAIN } from '../support/run-command.ts';

const program = await createProgram();
const run = promisify(execFile);

/** Folders in which Debian and other systems install shells. */
const places: Readonly<Record<Shell, readonly string[]>> = {
  bash: ['/bin/bash', '/usr/bin/bash'],
  zsh: ['/bin/zsh', '/usr/bin/zsh'],
  fish: ['/usr/bin/fish', '/bin/fish'],
};

/** Completions of a line that ends at the cursor. */
async function following(line: string): Promise<string[]> {
  const known = ['workspace', 'resource', 'table', 'job'];
  const values = (kind: string) => Promise.resolve(known.includes(kind) ? [{ word: `a-${kind}`, about: '' }] : []);
  const { candidates, paths } = await complete(program, line.split(' '), values);
  return [...candidates.map(({ word }) => word), ...(paths === 'none' ? [] : [`:${paths}`])];
}

function commandsBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsBelow)];
}

describe('the completions', () => {
  test('include every command, subcommand and flag', async () => {
    for (const command of commandsBelow(program)) {
      const names: string[] = [];
      for (let at: Command | null = command; at !== null && at !== program; at = at.parent) names.unshift(at.name());
      const line = names.length === 0 ? '' : `${names.join(' ')} `;
      const words = await following(line);
      for (const { name } of command.commands.map((below) => ({ name: below.name() }))) expect(words).toContain(name);
      const flags = await following(`${line}-`);
      for (const { long } of command.options) expect(flags).toContain(long);
      expect(flags).toContain('--help');
    }
  });

  test.each([
    { line: 'syn', gives: ['sync'] },
    { line: 'sync --only ', gives: ['a-resource'] },
    { line: 'sync --only responses,', gives: ['responses,a-resource'] },
    { line: 'sync --only responses a', gives: ['a-resource'] },
    { line: 'sync -w ', gives: ['a-workspace'] },
    { line: 'sync --workspace=', gives: ['--workspace=a-workspace'] },
    { line: 'jobs run ', gives: ['a-job'] },
    { line: 'jobs --work', gives: ['--workspace'] },
    { line: 'describe ', gives: ['a-table'] },
    { line: 'export --format c', gives: ['csv'] },
    { line: 'export --format=p', gives: ['--format=parquet'] },
    { line: 'export --output ', gives: [':folders'] },
    { line: 'backup ', gives: [':files'] },
    { line: 'sync --full --fu', gives: [] },
    { line: 'sync --brand x --brand', gives: ['--brand'] },
    { line: 'sync nonsense --unknown x', gives: [] },
    { line: 'no-such-command ', gives: ['--version', '--verbose', '--help'] },
    { line: 'sql -- --f', gives: [] },
  ])('of `sightline $line` are $gives', async ({ line, gives }) => {
    expect(await following(line)).toEqual(gives);
  });

  test('include the values that commands accept', () => {
    const listed = (path: string[], flag: string): readonly string[] | undefined => {
      const command = path.reduce<Command>(
        (at, name) => at.commands.find((below) => below.name() === name) as Command,
        program,
      );
      const takers: readonly (Option | Argument)[] = [...command.options, ...command.registeredArguments];
      return takers.find((taker) => ('long' in taker ? taker.long : taker.name()) === flag)?.argChoices;
    };
    expect(listed(['sql'], '--format')).toEqual([...FORMATS, 'parquet']);
    expect(listed(['export'], '--format')).toEqual(Object.keys(FILE_FORMATS));
    expect(listed(['export'], '--compression')).toEqual(COMPRESSIONS);
    expect(listed(['serve'], '--log-level')).toEqual(LOG_LEVELS);
    expect(listed(['completion'], 'shell')).toEqual(SHELLS);
  });

  test('are printed in the format of each shell', () => {
    const completion = { candidates: [{ word: '--a=b:c', about: 'one\nline' }], paths: 'files' } as const;
    expect(formatCompletion('bash', completion)).toBe('b:c\n:files\n');
    expect(formatCompletion('zsh', completion)).toBe('--a=b\\:c:one line\n:files\n');
    expect(formatCompletion('fish', completion)).toBe('--a=b:c\tone line\n:files\n');
    expect(wordsOf('bash', ['sql', '--format', '=', 'c'])).toEqual(['sql', '--format=c']);
    expect(wordsOf('fish', ['sql', '--format', '='])).toEqual(['sql', '--format', '=']);
  });
});

describe('in a real shell', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sightline-completion-'));
    const shim = join(folder, 'sightline');
    await writeFile(shim, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    await chmod(shim, 0o755);
    const workspaces = { acme: { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'ACME_KEY' } };
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ workspaces }));
    await writeFile(join(folder, 'some-backup.duckdb'), '');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const lines = [
    { line: 'sightline stat', shows: ['state', 'status'] },
    { line: 'sightline sync --workspace ac', shows: ['acme'] },
    {
      line: 'sightline sync --only aler',
      shows: [declarations.find(({ name }) => name.startsWith('aler'))?.name ?? ''],
    },
    { line: 'sightline export --format=cs', shows: ['csv'] },
    { line: 'sightline restore some-', shows: ['some-backup.duckdb'] },
    { line: 'sightline sql --file=some-', shows: ['some-backup.duckdb'] },
  ];

  for (const shell of SHELLS) {
    const path = places[shell].find((place) => existsSync(place));
    testWith(path === undefined ? `there is no ${shell}` : null)(
      `${shell} completes commands, values, workspaces and files`,
      async () => {
        for (const { line, shows } of lines) {
          const { stdout } = await run(path as string, inShell[shell](line), {
            cwd: folder,
            env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: folder, TERM: 'dumb' },
          });
          for (const word of shows) expect(stdout, line).toContain(word);
        }
      },
    );
  }
});

/** Arguments with which a shell prints its completions of a line. */
const inShell: Readonly<Record<Shell, (line: string) => string[]>> = {
  // Bash splits at equals signs, as it does during completion.
  bash: (line) => [
    '--norc',
    '-c',
    `source <(sightline completion bash); COMP_WORDS=(${line.replace('=', ' = ')}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1))
     _sightline sightline; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  // Runs zsh on a pseudo terminal and presses the Tab key.
  zsh: (line) => [
    '-f',
    '-c',
    `zmodload zsh/zpty; zpty z zsh -f -i
     zpty -w z "PS1=; autoload -U compinit; compinit -u -D; source <(sightline completion zsh); print rea''dy"
     zpty -r z out '*ready*'
     zpty -n -w z ${JSON.stringify(line)}$'\\t'; zpty -n -w z $'\\t'; zpty -w z ' #'; zpty -w z "print do''ne"
     zpty -r z out '*done*'; print -r -- "$out"; zpty -d z`,
  ],
  fish: (line) => ['--no-config', '-c', `sightline completion fish | source; complete -C ${JSON.stringify(line)}`],
};
