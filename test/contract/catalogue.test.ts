import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue, detailsOf, brandListOf } from '../../src/contract/catalogue.ts';
import { children, text, uuid } from '../../src/contract/fields.ts';
import { defineResource, type ResourceDeclaration } from '../../src/contract/resource.ts';
import { changesOf, openWorkspace } from '../support/workspace.ts';

const catalogue = createCatalogue(declarations);

describe('every declaration', () => {
  test.for(catalogue.tables.map((table) => [table.name, table] as const))(
    'gives table %s unique columns that include its key',
    ([, table]) => {
      const names = table.columns.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const { name, about } of table.columns) {
        expect(name).toMatch(/^_?[a-z][a-z0-9_]*$/);
        expect(about.trim().length).toBeGreaterThan(2);
      }
      for (const key of table.key) expect(names).toContain(key);
      expect(table.key.length).toBeGreaterThan(0);
      for (const name of ['_synced_at', '_run_id', '_row_hash', '_deleted_at', '_extra']) expect(names).toContain(name);
      expect(table.about.endsWith('.')).toBe(true);
      if (table.time !== undefined) expect(names).toContain(table.time);
    },
  );

  test.for(catalogue.resources.map((resource) => [resource.name, resource] as const))(
    'the columns of %s match its scope',
    ([, resource]) => {
      for (const table of resource.derived) {
        const columns = table.columns.map(({ name }) => name);
        expect(columns.includes('brand_id')).toBe(resource.scope === 'brand');
        for (const child of table.children) {
          expect(child.key).toEqual([...child.parentKey, 'ordinal']);
          expect(child.columns.map(({ name }) => name).includes('brand_id')).toBe(resource.scope === 'brand');
        }
      }
      expect(resource.about.endsWith('.')).toBe(true);
    },
  );

  test('has a unique name and a unique MCP tool', () => {
    for (const of of [declarations.map(({ name }) => name), declarations.map(({ tool }) => tool)]) {
      expect(new Set(of).size).toBe(of.length);
    }
  });

  test('is found by name, and so are its details and the list of brands', () => {
    for (const { name } of declarations) expect(catalogue.get(name).name).toBe(name);
    expect(() => catalogue.get('nothing')).toThrow(/no resource nothing; allowed: .*responses/);
    expect(brandListOf(catalogue).name).toBe('brands');
    expect(detailsOf(catalogue, 'brands').length).toBe(1);
  });
});

describe('defineResource and createCatalogue', () => {
  const sound: ResourceDeclaration = {
    name: 'things',
    about: 'Things.',
    scope: 'brand',
    path: '/brands/{brandId}/things',
    paging: 'single',
    change: { kind: 'set' },
    query: {},
    tables: [{ name: 'things', about: 'Things.', at: { list: 'data' }, key: ['id'], fields: { id: uuid('Id.') } }],
    tool: 'list_things',
  };
  const [table] = sound.tables as [ResourceDeclaration['tables'][number]];

  test.for<[string, Partial<ResourceDeclaration>]>([
    ['snake_case', { name: 'Things' }],
    ['the path parameter {other} has no value', { path: '/brands/{other}/things' }],
    ['the path parameter {brandId} has no value', { scope: 'workspace' }],
    ['the cursor parameter is missing', { paging: 'cursor' }],
    ['the parameter mode of each must be declared', { each: { parameter: 'mode', column: 'mode', about: 'Mode.' } }],
    ['the echoed parameter from is not declared', { echoes: ['from'] }],
    ['no key', { change: { kind: 'report', span: 'recent' }, tables: [{ ...table, key: [] }] }],
    ['no field name', { tables: [{ ...table, key: ['name'] }] }],
    [
      'is not a scalar column',
      {
        tables: [{ ...table, key: ['list'], fields: { list: children('L.', { table: 'l', repeat: [], fields: {} }) } }],
      },
    ],
    ['no time extent', { change: { kind: 'window' } }],
    ['no field at', { tables: [{ ...table, extent: { kind: 'time', field: 'at' } }] }],
  ])('reject an invalid declaration: %s', ([about, change]) => {
    expect(() => defineResource({ ...sound, ...change })).toThrow(about);
  });

  test('reject two resources with the same name or the same table', () => {
    expect(() => createCatalogue([sound, sound])).toThrow('two resources have the name things');
    expect(() => createCatalogue([sound, { ...sound, name: 'others', path: '/others', tool: 'list_others' }])).toThrow(
      'declared twice',
    );
  });
});

// New endpoints with pages of rows are in test/extending.
const mood = defineResource({
  name: 'mood',
  about: 'The mood of a brand, one value.',
  scope: 'brand',
  path: '/brands/{brandId}/mood',
  paging: 'single',
  change: { kind: 'value' },
  query: {},
  tables: [{ name: 'moods', about: 'Moods over time.', at: 'body', key: [], fields: { mood: text('Mood.') } }],
  tool: 'get_mood',
});

test('an endpoint with one value has a series for each brand, with a row for each change', async () => {
  const moods = new Map<string, string>();
  const workspace = await openWorkspace({
    world: 'small',
    declarations: [mood],
    fixtures: { mood: { answer: ({ path }) => ({ mood: moods.get(path['brandId'] ?? '') ?? 'calm' }) } },
  });
  const sync = async () => changesOf(await workspace.sync({ only: ['mood'] }));
  expect(await sync()).toEqual({ moods: { inserted: 2, updated: 0, deleted: 0 } });
  expect(await sync()).toEqual({});
  const [first, second] = workspace.sandbox.world.brands.map(({ id }) => id) as [string, string];
  moods.set(second, 'cheerful');
  expect(await sync()).toEqual({ moods: { inserted: 1, updated: 0, deleted: 0 } });
  const series = await workspace.query(
    'SELECT CAST(brand_id AS VARCHAR) AS brand, string_agg(mood, $$ $$ ORDER BY observed_at) AS moods FROM moods GROUP BY brand_id',
  );
  expect(new Map(series.map(({ brand, moods }) => [brand, moods]))).toEqual(
    new Map([
      [first, 'calm'],
      [second, 'calm cheerful'],
    ]),
  );
});
