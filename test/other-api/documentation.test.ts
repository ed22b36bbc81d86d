import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { toDeclaration } from '../../src/contract/declaration-data.ts';
import { catalogueOf } from '../../src/session/catalogues.ts';

const text = readFileSync(new URL('../../docs/other-apis.md', import.meta.url), 'utf8');
const examples = [...text.matchAll(/```json title=(\S+)\n([\s\S]*?)```/g)].map(
  ([, file = '', json = '']) => [file, JSON.parse(json) as unknown] as const,
);

test('the setting in docs/other-apis.md selects the file of the declarations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'documented-api-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [file, value] of examples.filter(([name]) => !name.startsWith('stapi/'))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), JSON.stringify(value));
  }
  const environment = { SIGHTLINE_BASE_URL: 'https://api.example.com/v2', SIGHTLINE_API_KEY: 'key-1' };
  const catalogue = catalogueOf(loadConfig({ flags: {}, environment, folder }));
  expect(catalogue.resources.map(({ name }) => name)).toEqual(['shelves', 'books']);
});

test('the declarations in docs/other-apis.md are valid and have the described tables', () => {
  const [, declared] = examples.find(([file]) => file.startsWith('library/')) ?? [];
  const catalogue = createCatalogue((declared as unknown[]).map(toDeclaration));
  expect(catalogue.tables.map(({ name }) => name)).toEqual(['shelves', 'books', 'book_authors']);
  expect(catalogue.tables.find(({ name }) => name === 'books')?.key).toEqual(['shelf_id', 'isbn']);
});

test('the settings of the tutorial are valid, and describe an API without declarations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'documented-document-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [, settings] = examples.find(([file]) => file.startsWith('stapi/')) ?? [];
  writeFileSync(join(folder, 'sightline.config.json'), JSON.stringify(settings));
  const environment = { SIGHTLINE_BASE_URL: 'https://stapi.co/api/v1/rest', SIGHTLINE_API_KEY: 'none' };
  const config = loadConfig({ flags: {}, environment, folder });
  expect(config.openapi).toEqual({ kind: 'file', path: join(folder, 'stapi.json') });
  expect(config.upstream().key).toBe('none');
  expect(catalogueOf(config).resources).toEqual([]);
});
