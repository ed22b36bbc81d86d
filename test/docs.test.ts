import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { declarations } from '../schemas/catalogue.ts';
import { describeTables, toMarkdown } from '../src/app/dictionary.ts';
import { errorTable } from '../src/base/errors.ts';
import { createProgram } from '../src/cli/program.ts';
import { particularExits, toReference } from '../src/cli/reference.ts';
import { createCatalogue } from '../src/contract/catalogue.ts';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

describe('the README', () => {
  it('lists every error with its exit code and HTTP status, and no other', () => {
    const listed = rowsOf('Errors').map(([code, exit, status]) => [code?.replaceAll('`', ''), Number(exit), status]);
    const known = Object.entries(errorTable).map(([code, kind]) => [
      code,
      kind.exit,
      'status' in kind ? String(kind.status) : '',
    ]);
    expect(sorted(listed)).toEqual(sorted(known));
  });

  it('lists every command, and no other', () => {
    const listed = rowsOf('Commands').map(([command]) => command?.replaceAll('`', ''));
    const known = createProgram(() => undefined).commands.map((command) => command.name());
    expect(sorted(listed)).toEqual(sorted(known));
  });

  it('lists every variable that is read, and no other', () => {
    const listed = rowsOf('Settings').map(([variable]) => variable?.replaceAll('`', ''));
    const source = readFileSync(join(root, 'src/base/config.ts'), 'utf8');
    expect(sorted(listed)).toEqual(sorted([...new Set(source.match(/\bSIGHTLINE_[A-Z_]+\b/g))]));
  });

  it('lists every table, and no other', () => {
    const paragraph = /Tables, named after the API[\s\S]*?\n\n([\s\S]*?)\n\n/.exec(readme)?.[1] ?? '';
    const listed = [...paragraph.matchAll(/`(\w+)`/g)].map((match) => match[1]);
    const known = createCatalogue(declarations).tables.map((table) => table.name);
    expect(sorted(listed)).toEqual(sorted(known));
  });

  it('maps every folder of src, and no other', () => {
    const listed = [...section('Map of the code').matchAll(/^ {4}src\/([\w.]+)\/? /gm)].map((match) => match[1]);
    expect(sorted(listed)).toEqual(sorted(readdirSync(join(root, 'src'))));
  });

  it('names only scripts and files that are there', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
    const named = [...readme.matchAll(/npm run (\w+)/g)].map((match) => match[1] as string);
    expect(named.length).toBeGreaterThan(0);
    for (const script of named) expect(Object.keys(scripts)).toContain(script);
    for (const file of ['schemas/catalogue.ts', 'schemas/fixtures/all.ts', 'test/bench']) {
      expect(readme).toContain(file);
      expect(existsSync(join(root, file))).toBe(true);
    }
  });
});

describe('the data dictionary', () => {
  it('is what `npm run docs` writes', async () => {
    const written = readFileSync(join(root, 'docs/data-dictionary.md'), 'utf8');
    expect(written, 'stale: run `npm run docs`').toBe(toMarkdown(await describeTables()));
  });
});

describe('the reference of the command line', () => {
  it('is what `npm run docs` writes', () => {
    const written = readFileSync(join(root, 'docs/cli.md'), 'utf8');
    expect(written, 'stale: run `npm run docs`').toBe(toReference(createProgram(() => undefined)));
    for (const path of Object.keys(particularExits)) expect(written).toContain(`### ${path}\n`);
  });
});

describe('what is written of BI tools', () => {
  it('names commands, tables and files that are there', async () => {
    const text = readFileSync(join(root, 'docs/bi.md'), 'utf8');
    const commands = createProgram(() => undefined).commands.map((command) => command.name());
    const named = [...text.matchAll(/`sightline (\w+)/g)].map((match) => match[1]);
    expect(named.length).toBeGreaterThan(3);
    for (const command of named) expect(commands).toContain(command);
    const tables = (await describeTables()).map(({ name }) => name);
    for (const [, table] of text.matchAll(/latest[/\\](\w+)/g)) expect(tables).toContain(table);
    for (const [, file] of text.matchAll(/\]\(([^)]+\.md)\)/g))
      expect(existsSync(join(root, 'docs', file ?? ''))).toBe(true);
  });
});

function section(title: string): string {
  return readme.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
}

function rowsOf(title: string): string[][] {
  const rows = section(title)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  expect(rows.length).toBeGreaterThan(2);
  return rows.slice(2);
}

function sorted<T>(values: readonly T[]): string[] {
  return values.map((value) => JSON.stringify(value)).sort();
}
