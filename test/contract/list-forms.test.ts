import { expect, test } from 'vitest';
import { besideMembers, createBesideReader } from '../../src/contract/beside-list.ts';
import { createObservedForms } from '../../src/contract/field-forms.ts';
import { createOrderObserver, observedOrder } from '../../src/contract/list-order.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';

function shapesOf(forms: ReturnType<typeof createObservedForms>, resource: string) {
  return [...forms.unstored(resource).forms].map(([name, value]) => [resource, name, value] as const);
}

const threads = catalogue.get('forum_opportunities');
const [table] = threads.derived;

/** Items with an id, a title and two times, as in the columns of the table. */
function items(...rows: readonly (readonly [id: string, title: string, created: string, posted: string])[]) {
  return rows.map(([id, title, created, posted]) => ({ id, title, created_at: created, posted_at: posted }));
}

function observing() {
  const forms = createObservedForms();
  if (table === undefined) throw new Error('the resource has no table');
  const observe = createOrderObserver(threads, table, forms);
  return {
    observe: (rows: ReturnType<typeof items>) => observe?.(rows),
    order: () => observedOrder(threads.name, shapesOf(forms, threads.name)),
  };
}

const byPostedThenTitle = items(
  ['c', 'Ants', '2026-01-01 00:00:00', '2026-03-03 00:00:00'],
  ['b', 'bees', '2026-01-05 00:00:00', '2026-03-03 00:00:00.000'],
  ['a', 'Cats', '2026-01-03 00:00:00', '2026-03-03 00:00:00'],
  ['d', 'Ants', '2026-01-04 00:00:00', '2026-03-01 00:00:00'],
);

test('the pages of a list show its time and the order of items with equal times', () => {
  const { observe, order } = observing();
  observe(byPostedThenTitle);
  const found = order();
  expect(found?.pairs).toBe(3);
  expect(found?.left.every(([time]) => time === '-postedAt')).toBe(true);
  // The titles are in order only if their case is ignored; descending ids agree too.
  expect(found?.shown.map((keys) => keys.slice(1).join())).toEqual(['-id', 'lower(title),-id', 'lower(title),id']);
  observe(items(['e', 'ants', '2026-01-01', '2026-02-02'], ['f', 'Bees', '2026-01-01', '2026-02-02']));
  expect(order()?.shown.map((keys) => keys.slice(1).join())).toEqual(['lower(title),-id', 'lower(title),id']);
});

test('pages that are read again change nothing', () => {
  const { observe, order } = observing();
  observe(byPostedThenTitle);
  const before = order();
  observe(byPostedThenTitle);
  observe(byPostedThenTitle.slice(0, 2));
  expect(order()).toEqual(before);
});

test('a page that contradicts the known order replaces it', () => {
  const { observe, order } = observing();
  observe(byPostedThenTitle);
  observe(
    items(
      ['a', 'Ants', '2026-01-09 00:00:00', '2026-03-01 00:00:00'],
      ['b', 'Ants', '2026-01-08 00:00:00', '2026-03-03 00:00:00'],
    ),
  );
  expect(order()?.shown).toContainEqual(['-createdAt', '-id']);
  expect(order()?.left.some(([time]) => time === '-postedAt')).toBe(false);
});

test('pages that no order explains together count against the order of the newest page, until later pages agree with it', () => {
  const { observe, order } = observing();
  const day = '2026-01-01 00:00:00';
  const pageOf = (...ids: readonly (readonly [id: string, title: string])[]) =>
    items(...ids.map(([id, title]) => [id, title, day, day] as const));
  observe(pageOf(['c', 'C'], ['a', 'A'], ['b', 'B']));
  expect(order()).toMatchObject({ left: [], pairs: 2, against: 0 });
  const byTitle = pageOf(['b', 'A'], ['a', 'B'], ['c', 'C']);
  observe(byTitle);
  expect(order()?.shown.map((keys) => keys.slice(1).join())).toContain('title,-id');
  expect(order()).toMatchObject({ pairs: 2, against: 2 });
  observe(byTitle);
  expect(order()).toMatchObject({ pairs: 2, against: 0 });
});

test('members beside a list are served if they repeat a parameter, count the items or never change', () => {
  const forms = createObservedForms();
  const urls = catalogue.get('cited_urls');
  const read = createBesideReader(urls, forms);
  const common = { object: 'list', version: 'v1', requestId: '3f2b1c9e-0000-4000-8000-000000000002', data: [] };
  read({ ...common, from: '2026-03-01', to: '2026-03-02', total: 4 });
  read({ ...common, from: '2026-03-01', to: '2026-03-03', total: 5, version: 'v2' });
  expect(besideMembers(urls, shapesOf(forms, urls.name))).toEqual([
    { name: 'object', text: 'list' },
    { name: 'from', repeats: true },
    { name: 'to', repeats: true },
  ]);
  const competitors = catalogue.get('competitors');
  const readAll = createBesideReader(competitors, forms);
  readAll({ competitors: [{}, {}], count: 2, pages: 2 });
  readAll({ competitors: [], count: 0, pages: 1 });
  expect(besideMembers(competitors, shapesOf(forms, competitors.name))).toEqual([{ name: 'count', counts: true }]);
});
