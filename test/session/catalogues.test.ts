import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import type { Catalogue } from '../../src/contract/catalogue.ts';
import { builtInCatalogue, catalogueOf, declaredCatalogue, sharedCatalogueOf } from '../../src/session/catalogues.ts';

const book = {
  name: 'books',
  about: 'Books of a library.',
  scope: 'workspace',
  path: '/books',
  paging: 'single',
  change: { kind: 'set' },
  tool: 'list_books',
  tables: [
    {
      name: 'books',
      about: 'Books.',
      at: { list: 'data' },
      key: ['number'],
      fields: {
        number: 'integer',
        title: { kind: 'text', about: 'Title of the book.' },
        publisher: { kind: 'group', fields: { id: 'text', name: 'label' } },
        authors: { kind: 'children', table: 'book_authors', fields: { name: 'text' } },
      },
    },
  ],
};

/** Writes the files of a folder and returns the catalogue of a workspace with these `schemas`. */
function open(files: Readonly<Record<string, unknown>>, schemas: readonly string[]): Catalogue {
  const folder = mkdtempSync(join(tmpdir(), 'catalogues-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  writeFileSync(join(folder, 'sightline.config.json'), JSON.stringify({ schemas }));
  return catalogueOf(loadConfig({ flags: {}, environment: {}, folder }));
}

const openJson = (content: unknown): Catalogue => open({ 'api.json': content }, ['./api.json']);

test('a workspace without schemas has the resources of this package', () => {
  expect(declaredCatalogue({ schemas: [] })).toBe(builtInCatalogue);
  expect(declaredCatalogue({ schemas: ['builtin'] })).toBe(builtInCatalogue);
});

test('a JSON file declares tables, nested tables and descriptions', () => {
  const catalogue = openJson(book);
  expect(catalogue.resources.map(({ name }) => name)).toEqual(['books']);
  expect(catalogue.tables.map(({ name }) => name)).toEqual(['books', 'book_authors']);
  const columns = catalogue.tables[0]?.columns.map(({ name, kind, about }) => [name, kind, about]);
  expect(columns?.slice(0, 4)).toEqual([
    ['number', 'integer', 'Field `number` of the API.'],
    ['title', 'text', 'Title of the book.'],
    ['publisher_id', 'text', 'Field `id` of the API.'],
    ['publisher_name', 'text', 'Field `name` of the API.'],
  ]);
  expect(catalogue.histories.map(({ name }) => name)).toEqual(['books_history']);
});

test('a module exports a declaration, a list, or a function of the helpers', () => {
  const make = (name: string): string =>
    `({ name: '${name}', about: 'x', scope: 'workspace', path: '/${name}', paging: 'single', change: { kind: 'set' }, query: {}, tool: 'list_${name}', tables: [{ name: '${name}', about: 'x', at: 'body', key: ['id'], fields: { id: uuid('Id.') } }] })`;
  const catalogue = open(
    {
      'one.mjs': `export default ({ uuid, defineResource }) => defineResource${make('pens')};`,
      'two.mjs': `export default ({ uuid }) => [${make('inks')}, ${make('nibs')}];`,
    },
    ['*.mjs'],
  );
  expect(catalogue.resources.map(({ name }) => name)).toEqual(['pens', 'inks', 'nibs']);
});

test('declarations can be added to those of this package', () => {
  const catalogue = open({ 'api.json': book }, ['builtin', './api.json']);
  expect(catalogue.resources).toHaveLength(builtInCatalogue.resources.length + 1);
});

test.each([
  ['a file that does not exist', {}, ['./none.json'], /none\.json" selects no file/],
  ['a folder with a wildcard', {}, ['./a*/b.json'], /has \* in the name of a folder/],
  ['another extension', { 'a.yaml': '' }, ['./a.yaml'], /selects a\.yaml; allowed: files with the extension/],
  ['text that is not JSON', { 'a.json': '{' }, ['./a.json'], /cannot be read as JSON/],
  ['a module without a default export', { 'a.mjs': 'export const a = 1;' }, ['./a.mjs'], /has no default export/],
  ['a module that exports a number', { 'a.mjs': 'export default 7;' }, ['./a.mjs'], /contains number; allowed/],
  ['a module with an incomplete declaration', { 'a.mjs': 'export default {};' }, ['./a.mjs'], /incomplete declaration/],
  ['a module that throws', { 'a.mjs': 'throw new Error("broken");' }, ['./a.mjs'], /cannot be imported: broken/],
  [
    'await outside a function',
    { 'a.mjs': 'await 1; export default [];' },
    ['./a.mjs'],
    /uses await outside a function/,
  ],
])('%s is rejected', (_title, files, schemas, message) => {
  expect(() => open(files, schemas)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
  );
});

const [table] = book.tables as [(typeof book.tables)[number]];
test.each([
  ['two resources of one name', [book, { ...book, path: '/other' }], /two resources have the name books/],
  [
    'two resources of one path',
    [book, { ...book, name: 'others', tool: 'list_others' }],
    /two resources have the path \/books/,
  ],
  [
    'two resources of one tool',
    [book, { ...book, name: 'others', path: '/others' }],
    /two resources have the tool list_books/,
  ],
  [
    'one table of two resources',
    [book, { ...book, name: 'others', path: '/others', tool: 'list_others' }],
    /table books is declared twice/,
  ],
  ['a reserved table', { ...book, tables: [{ ...table, name: 'sync' }] }, /the table name sync is reserved/],
  ['a reserved path', { ...book, path: '/openapi.json' }, /uses the path \/openapi\.json itself/],
  [
    'the table of a history',
    { ...book, tables: [table, { ...table, name: 'books_history', fields: { number: 'integer' } }] },
    /table books_history has the name of a history/,
  ],
  [
    'two columns of one name',
    { ...book, tables: [{ ...table, fields: { number: 'integer', bookTitle: 'text', book_title: 'text' } }] },
    /table books has two columns book_title/,
  ],
  [
    'a brand without a list of brands',
    { ...book, scope: 'brand', path: '/brands/{brandId}/books' },
    /no resource provides brands/,
  ],
  [
    'an unknown kind of field',
    { ...book, tables: [{ ...table, fields: { number: 'whole' } }] },
    /tables\.0\.fields\.number is "whole"/,
  ],
  ['an unknown member', { ...book, computes: 'by-day' }, /Unrecognized key: "computes"/],
  ['a path with an unknown parameter', { ...book, path: '/books/{id}' }, /path parameter \{id\} has no value/],
  [
    'cursor paging without order',
    {
      ...book,
      paging: 'cursor',
      query: { cursor: { kind: 'cursor', about: 'c' }, limit: { kind: 'limit', about: 'l', max: 10 } },
    },
    /needs the order of one descending field/,
  ],
])('%s is rejected', (_title, content, message) => {
  expect(() => openJson(content)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
  );
});

test('a key of another API has any form, and a key of the built-in API begins with gsk_', () => {
  const folder = mkdtempSync(join(tmpdir(), 'catalogues-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const environment = { SIGHTLINE_API_KEY: 'token-1', SIGHTLINE_BASE_URL: 'https://api.example.com' };
  expect(() => loadConfig({ flags: {}, environment, folder }).upstream()).toThrow(/begins with gsk_/);
  const file = { schemas: ['./api.json'] };
  expect(loadConfig({ flags: {}, environment, folder, file }).upstream().key).toBe('token-1');
});

test('workspaces of one server share their declarations', () => {
  expect(
    sharedCatalogueOf([
      { name: 'a', schemas: [] },
      { name: 'b', schemas: [] },
    ]),
  ).toBe(builtInCatalogue);
  expect(() =>
    sharedCatalogueOf([
      { name: 'a', schemas: [] },
      { name: 'b', schemas: ['/x.json'] },
    ]),
  ).toThrow(/the workspaces a and b have different schemas/);
});
