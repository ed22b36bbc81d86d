import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testWith } from '../support/needs.ts';
import { runCli } from './helpers.ts';

const run = promisify(execFile);

/** Folders in which Debian and other systems install shells. */
const PLACES = ['/bin', '/usr/bin'];
/** Lines that end at the cursor, with words that the shells offer, and a word that they do not offer. */
const LINES = [
  { line: 'sightline stat', shows: ['state', 'status'], hides: 'sync' },
  { line: 'sightline state re', shows: ['reset'], hides: 'list' },
  { line: 'sightline state reset --y', shows: ['--yes'], hides: '--json' },
  { line: 'sightline sync --ful', shows: ['--full'], hides: '--only' },
  { line: 'sightline restore --force some-', shows: ['some-backup.duckdb'], hides: '--yes' },
];

/** Arguments with which a shell loads `script` and prints its completions of a line. */
const inShell: Readonly<Record<string, (script: string, line: string) => string[]>> = {
  bash: (script, line) => [
    '--norc',
    '-c',
    `source ${script}; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _sightline
     printf '%s\\n' "\${COMPREPLY[@]}"; complete -p sightline | grep -q -- '-o default' && compgen -f -- ${line.split(' ').at(-1)}; true`,
  ],
  // Runs zsh on a pseudo terminal and presses the Tab key.
  zsh: (script, line) => [
    '-f',
    '-c',
    `zmodload zsh/zpty; zpty z zsh -f -i
     zpty -w z "PS1=; autoload -U compinit; compinit -u -D; source ${script}; print rea''dy"
     zpty -r z out '*ready*'
     zpty -n -w z ${JSON.stringify(line)}$'\\t'; zpty -n -w z $'\\t'; zpty -w z ' #'; zpty -w z "print do''ne"
     zpty -r z out '*done*'; print -r -- "$out"; zpty -d z`,
  ],
  fish: (script, line) => ['--no-config', '-c', `source ${script}; complete -C ${JSON.stringify(line)}`],
};

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sightline-completion-'));
  await writeFile(join(folder, 'some-backup.duckdb'), '');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

for (const [shell, args] of Object.entries(inShell)) {
  const path = PLACES.map((place) => join(place, shell)).find((place) => existsSync(place));
  testWith(path === undefined ? `there is no ${shell}` : null)(
    `${shell} completes commands, subcommands, flags and files`,
    async () => {
      const script = join(folder, shell);
      await writeFile(script, (await runCli(['completion', shell], { cwd: folder })).stdout);
      for (const { line, shows, hides } of LINES) {
        const { stdout } = await run(path as string, args(script, line), {
          cwd: folder,
          env: { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'dumb' },
        });
        for (const word of shows) expect(stdout, line).toContain(word);
        expect(stdout, line).not.toContain(hides);
      }
    },
  );
}

test('an unknown shell is an error with the allowed ones', async () => {
  const { code, stderr } = await runCli(['completion', 'bsh'], { cwd: folder });
  expect(code).toBe(2);
  expect(stderr).toContain('completion does not support "bsh"; allowed: bash, zsh, fish; did you mean "bash"?');
});
