import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { exportWorkspace } from '../../src/operations/export.ts';
import { readWorkspaceStatus } from '../../src/operations/status.ts';
import { syncWorkspace } from '../../src/operations/sync.ts';
import { verifyWorkspace } from '../../src/operations/verify.ts';
import { openService } from '../../src/serve/open-service.ts';
import { catalogueOf } from '../../src/session/catalogues.ts';
import { startUpstream } from '../generic/upstream.ts';
import { NOW_MS, skippingClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';

const NEW = '2026-03-02T08:00:00.000Z';
const OLD = '2026-03-01T08:00:00.000Z';

/** Answers the requests of an API of a library, which has no brands. */
function library(path: string, query: URLSearchParams) {
  const from = Number(query.get('cursor') ?? 0);
  if (path === '/books') return { status: 200, body: { data: books } };
  const nextCursor = from + 2 < loans.length ? String(from + 2) : null;
  return path === '/loans' ? { status: 200, body: { data: loans.slice(from, from + 2), nextCursor } } : null;
}

const declarations = [
  {
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
          title: 'text',
          authors: { kind: 'children', table: 'book_authors', fields: { name: 'text' } },
        },
      },
    ],
  },
  {
    name: 'loans',
    about: 'Loans of books.',
    scope: 'workspace',
    path: '/loans',
    paging: 'cursor',
    change: { kind: 'walk' },
    order: ['-lentAt'],
    query: {
      limit: { kind: 'limit', about: 'Maximum number of loans.', max: 2, default: 2 },
      cursor: { kind: 'cursor', about: 'Cursor of the next page.' },
    },
    tool: 'list_loans',
    tables: [
      {
        name: 'loans',
        about: 'Loans.',
        at: { list: 'data' },
        key: ['code'],
        fields: { code: 'text', lentAt: 'timestamp', book: 'integer' },
      },
    ],
  },
];

const books = [
  { number: 2, title: 'Second', authors: [{ name: 'A' }, { name: 'B' }] },
  { number: 1, title: 'First', authors: [] },
];
const loans = [
  { code: 'c', lentAt: NEW, book: 2 },
  { code: 'b', lentAt: NEW, book: 1 },
  { code: 'a', lentAt: OLD, book: 1 },
];

test('an API without brands is synced, queried and exported by declarations from a file', async () => {
  const upstream = await startUpstream({ shapes: [], nowMs: NOW_MS, others: library });
  const folder = await temporaryFolder();
  onTestFinished(() => upstream.close());
  writeFileSync(join(folder, 'library.json'), JSON.stringify(declarations));
  writeFileSync(join(folder, 'sightline.config.json'), JSON.stringify({ schemas: ['./library.json'] }));
  const environment = { SIGHTLINE_BASE_URL: upstream.baseUrl, SIGHTLINE_API_KEY: upstream.sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const clock = skippingClock(() => NOW_MS);
  const context = { config, clock, signal: new AbortController().signal, command: 'test' };
  const sync = () => syncWorkspace(context, { only: null, range: null, brands: null }, () => undefined);

  const first = await sync();
  expect(first).toMatchObject({ status: 'complete', error: null, failures: [], quarantined: 0 });
  const second = await sync();
  expect(second).toMatchObject({ status: 'complete' });
  for (const { inserted, updated, deleted } of Object.values(second.tables))
    expect([inserted, updated, deleted]).toEqual([0, 0, 0]);

  const catalogue = catalogueOf(config);
  const service = openService(config, clock, new Uint8Array(32), 10_000);
  onTestFinished(() => service.close());
  const ask = async (name: string, query = '') => {
    const question = await service.ask(catalogue.get(name), {}, new URLSearchParams(query));
    return (await question.answer()).body as { data: unknown[]; nextCursor?: string };
  };
  expect(await ask('books')).toEqual({ data: books });
  const page = await ask('loans');
  expect(page.data).toEqual(loans.slice(0, 2));
  expect(await ask('loans', `cursor=${page.nextCursor}`)).toEqual({ data: loans.slice(2), nextCursor: null });

  expect((await readWorkspaceStatus(config, clock)).data).not.toBeNull();
  const exported = await exportWorkspace(context, () => undefined, {});
  const names = exported.tables.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['books', 'book_authors', 'books_history', 'loans', 'loans_history']));
  expect(names.filter((name) => /^(dim|fct)_/.test(name))).toEqual([]);
  await expect(
    verifyWorkspace(context, { brands: null, range: null, fresh: false, repair: false }, () => undefined),
  ).rejects.toThrow(/verify is not available for this API/);
});
