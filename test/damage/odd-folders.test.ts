import { cpSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readManifest } from '../../src/publish/snapshot/manifest.ts';
import { makeTemplate, type Template } from './workspace.ts';

// DuckDB treats some characters of a path as a glob pattern, and a question mark as the start of parameters.

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template.close());

describe('a data folder', () => {
  type Command = 'sync' | 'export' | 'backup' | 'restore snapshot' | 'restore backup';
  test.for<[name: string, sibling: string | null, commands: readonly Command[]]>([
    ['a*[x]b', 'aYxb', ['export', 'restore snapshot']],
    // Long, with every kind of character.
    [
      [`a*[x]b "b"'c'\nd Größe-日本-😀#b%20c;d$e\\f{g,h}`, ...Array.from({ length: 8 }, () => 'x'.repeat(120))].join(
        '/',
      ),
      null,
      ['sync', 'export', 'backup', 'restore backup'],
    ],
  ])('named %j works', async ([name, sibling, commands]) => {
    const patient = await template.copy();
    const [data, moved] = [join(patient.folder, 'data'), join(patient.folder, name)];
    // The name, as a pattern, matches the files of the sibling folder.
    if (sibling !== null) cpSync(data, join(patient.folder, sibling), { recursive: true, verbatimSymlinks: true });
    mkdirSync(dirname(moved), { recursive: true });
    renameSync(data, moved);
    const latest = join(moved, 'default', 'snapshots', 'latest');
    const backup = join(moved, 'backup.duckdb');
    const argumentsOf = {
      sync: ['sync', '--only', 'prompts'],
      export: ['export'],
      backup: ['backup', backup],
      'restore snapshot': ['restore', latest, '--force', '--yes'],
      'restore backup': ['restore', backup, '--force', '--yes'],
    };
    for (const command of commands) {
      const { code, text } = await patient.run(...argumentsOf[command], '--data-dir', moved);
      expect(code, `${command}: ${text}`).toBe(0);
    }
    expect((await readManifest(latest))?.tables.find((table) => table.name === 'prompts')?.rows).toBe(3);
  });

  test('with a question mark in its name is rejected by every command', async () => {
    const patient = await template.copy();
    const folder = join(patient.folder, 'a?b');
    renameSync(join(patient.folder, 'data'), folder);
    for (const argv of [['sync'], ['status'], ['export'], ['keys', 'list'], ['sql', 'select 1']]) {
      const { code, text } = await patient.run(...argv, '--data-dir', folder);
      expect(code, text).toBe(2);
      expect(text).toContain(`the data folder ${JSON.stringify(join(folder, 'default'))} contains "?"`);
    }
  });

  test('with a path longer than the system allows is rejected in one sentence', async () => {
    const patient = await template.copy();
    const folder = join(patient.folder, ...Array.from({ length: 40 }, () => 'x'.repeat(120)));
    const { code, text } = await patient.run('sync', '--data-dir', folder);
    expect(code, text).toBe(1);
    expect(text).toMatch(/^sightline: cannot write to the folder .* \(ENAMETOOLONG\)\n.*\n$/);
  });

  test('cannot receive a backup or replay file with a question mark in its name', async () => {
    const patient = await template.copy();
    for (const argv of [
      ['backup', join(patient.folder, 'copy?.duckdb')],
      ['replay', '--into', join(patient.folder, 'copy?.duckdb')],
    ]) {
      const { code, text } = await patient.run(...argv);
      expect(code, text).toBe(2);
      expect(text).toContain('contains "?"; allowed: a path without it');
    }
  });
});
