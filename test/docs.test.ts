import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPTIONAL_PACKAGES } from '../src/base/optional-packages.ts';
import { commands } from '../src/cli/program/command-list.ts';
import { describeTables } from '../src/operations/dictionary.ts';
import { builtInCatalogue } from '../src/workspace/catalogues.ts';

const root = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(inDocs),
].filter((path) => path.endsWith('.md'));

describe('the indexes', () => {
  it.each([
    ['README.md', (page: string) => !page.startsWith('docs/operator/') || page === 'docs/operator/README.md'],
    ['docs/operator/README.md', (page: string) => page.startsWith('docs/operator/')],
  ])('link from %s to each of its pages', (index, isListed) => {
    const linked = linksOf(index).map(([path]) => path);
    const listed = pages.filter((page) => isListed(page) && page !== index);
    expect(listed.length).toBeGreaterThan(5);
    expect(linked).toEqual(expect.arrayContaining(listed));
  });
});

describe('the documentation pages', () => {
  it('link only to existing files and headings', () => {
    const broken = pages.flatMap((page) =>
      linksOf(page)
        .filter(
          ([path, anchor]) => !(existsSync(join(root, path)) && (anchor === '' || anchorsOf(path).includes(anchor))),
        )
        .map(([path, anchor]) => `${page}: ${path}#${anchor}`),
    );
    expect(broken).toEqual([]);
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(30);
  });

  it('name only existing scripts and commands', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
    const text = pages.map(read).join('\n');
    const matches = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] as string);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(matches(/npm run ([\w:]+)/g)));
    expect(Object.keys(commands)).toEqual(expect.arrayContaining(matches(/(?:^ {4}|`)sightline ([a-z]+)/gm)));
  });

  it('never start the command with npx, which would fetch an unrelated package of that name', () => {
    const texts = ['docs', 'examples', 'jobs', 'schemas', 'src']
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
      )
      .filter((path) => statSync(join(root, path)).isFile());
    expect(texts.length).toBeGreaterThan(500);
    const bare = /\bnpx (-\S+ )*\S*sightline|"npx"/;
    expect(['README.md', ...texts].filter((path) => bare.test(read(path)))).toEqual([]);
  });

  it.each([
    ['uses of optional packages', 'docs/operator/README.md', 'Optional packages', Object.keys(OPTIONAL_PACKAGES)],
    ['entries of src', 'docs/ARCHITECTURE.md', 'Layers', readdirSync(join(root, 'src'))],
  ])('list exactly the %s', (_, page, title, known) => {
    const listed = rowsOf(read(page), title).map(([first]) => first?.replaceAll('`', ''));
    expect(sorted(listed.map(String))).toEqual(sorted(known));
  });
});

describe('the pages for people who look at the data', () => {
  it.each(['README.md', 'docs/pages.md'])('use no terms of operators in %s', (page) => {
    expect(read(page).match(/\b(upstream|replica|ledger)\b/gi)).toBeNull();
  });
});

describe('the page about BI tools', () => {
  it('names only existing tables', async () => {
    const text = read('docs/bi.md');
    const tables = (await describeTables(builtInCatalogue)).map(({ name }) => name);
    for (const [, table] of text.matchAll(/latest[/\\](\w+)/g)) expect(tables).toContain(table);
  });
});

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function inDocs(name: string): string {
  return join('docs', name);
}

/** Returns a page's links within the project: the path from the root, and the anchor or ''. */
function linksOf(page: string): (readonly [path: string, anchor: string])[] {
  return [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = '', anchor = ''] = target.split('#');
    return [[path === '' ? page : join(dirname(page), path), anchor] as const];
  });
}

function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function section(text: string, title: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? '';
}

function rowsOf(text: string, title: string): string[][] {
  const rows = section(text, title)
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
