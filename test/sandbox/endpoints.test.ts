import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { declarations } from '../../schemas/catalogue.ts';
import { fixtures } from '../../schemas/fixtures/all.ts';
import type { ResourceDeclaration, TableDeclaration } from '../../src/contract/resource.ts';
import { type Body, type Opened, open } from './helpers.ts';

/** Fills in the path parameters; ids of details come from the list that contains them. */
async function pathsOf({ get, brandIds }: Opened, declaration: ResourceDeclaration): Promise<string[]> {
  const paths: string[] = [];
  for (const id of await brandIds()) {
    const path = declaration.path.replace('{brandId}', id);
    const { change } = declaration;
    if (change.kind !== 'detail' || !path.includes('{')) {
      paths.push(path);
      continue;
    }
    const list = declarations.find(({ name }) => name === change.of) as ResourceDeclaration;
    const { body } = await get(list.path.replace('{brandId}', id));
    paths.push(...body.data.map((item: Body) => path.replace(`{${change.parameter}}`, item.id)));
  }
  return [...new Set(paths)];
}

function itemsOf(table: TableDeclaration, body: Body): Body[] {
  const items = table.at === 'body' ? [body] : body[table.at.list];
  return table.normalize === undefined ? items : items.map(table.normalize);
}

let opened: Opened;
beforeAll(async () => {
  opened = await open({ days: 45 });
});

test('every resource declaration has a fixture and every fixture a declaration', () => {
  expect(Object.keys(fixtures).sort()).toEqual(declarations.map(({ name }) => name).sort());
  const others = ['all.ts', 'choices.ts', 'report-choices.ts', 'start.ts', 'world'];
  const files = readdirSync(join(import.meta.dirname, '../../schemas/fixtures')).filter(
    (file) => !others.includes(file),
  );
  expect(files.sort()).toEqual(declarations.map(({ name }) => `${name.replaceAll('_', '-')}.ts`).sort());
});

test.each(declarations.map((declaration) => [declaration.name, declaration] as const))(
  '%s returns items with exactly the declared fields and types, and with their key',
  async (_, declaration) => {
    const seen = new Map<string, Set<string>>();
    for (const path of await pathsOf(opened, declaration)) {
      const { status, body } = await opened.get(path);
      expect(status).toBe(200);
      for (const table of declaration.tables) {
        const filled = seen.get(table.name) ?? new Set<string>();
        seen.set(table.name, filled);
        for (const item of itemsOf(table, body)) {
          const strict = table.at === 'body' || table.normalize !== undefined;
          const schema = strict ? z.looseObject(table.fields) : z.strictObject(table.fields);
          expect(schema.safeParse(item).error).toBeUndefined();
          for (const key of table.key) {
            if (table.fields[key] === undefined || table.nullableKey?.includes(key)) continue;
            expect(item[key], key).not.toBeNull();
          }
          for (const [name, value] of Object.entries(item)) if (value !== null) filled.add(name);
        }
      }
    }
    // A field that is always null would not be tested, so require a value of each declared field in some row.
    for (const table of declaration.tables) {
      const fields = Object.keys(table.fields);
      expect([...(seen.get(table.name) ?? [])]).toEqual(expect.arrayContaining(fields));
    }
  },
);

test('every ordered list keeps its order', async () => {
  for (const declaration of declarations.filter(({ order }) => order !== undefined)) {
    const field = declaration.order?.[0] as string;
    const [name, sign] = field.startsWith('-') ? [field.slice(1), -1] : [field, 1];
    for (const path of await pathsOf(opened, declaration)) {
      const values = (await opened.get(path)).body.data.map((item: Body) => item[name]);
      const sorted = values.toSorted((a: Body, b: Body) => (a < b ? -sign : a > b ? sign : 0));
      expect(values, declaration.name).toEqual(sorted);
    }
  }
});

test('the OpenAPI document describes every endpoint and parameter, and needs no key', async () => {
  const response = await fetch(`${opened.sandbox.baseUrl}/openapi.json`);
  const document = (await response.json()) as Body;
  expect(document.openapi).toBe('3.1.0');
  expect(Object.keys(document.paths)).toEqual(declarations.map(({ path }) => path));
  for (const { path, query } of declarations) {
    const described = document.paths[path].get.parameters.filter((parameter: Body) => parameter.in === 'query');
    expect(described.map((parameter: Body) => parameter.name)).toEqual(Object.keys(query));
    for (const { name, schema } of described) {
      expect(schema.enum).toEqual(query[name]?.values);
      expect(schema.default).toEqual(query[name]?.default);
      expect(schema.maximum).toEqual(query[name]?.max);
    }
  }
});

test('action plans have the counts of the responses of the last 14 days', async () => {
  const path = `/brands/${(await opened.brandIds())[0]}`;
  const answers = await opened.walk(`${path}/responses`, { from: '2026-03-02', to: '2026-03-15', limit: 100 });
  const { data } = (await opened.get(`${path}/action-plans`)).body;
  for (const row of data) {
    const own = answers.filter(({ promptId }) => promptId === row.promptId);
    const lost = own.filter((answer) => !answer.brandMentioned && answer.competitors.length > 0);
    const mentioned = own.filter((answer) => answer.brandMentioned).length;
    expect(row).toMatchObject({ answers: own.length, mentioned, lost: lost.length });
    expect(row.lost).toBeGreaterThan(0);
  }
  expect(data.filter((row: Body) => row.generatedAt === null)).not.toHaveLength(0);
});

test('texts preserve Unicode, quotes, backslashes, line breaks and great length', async () => {
  const many = await open({ brands: 5 });
  const texts = new Set<string>();
  for (const declaration of declarations) {
    for (const path of await pathsOf(many, declaration)) texts.add((await many.get(path)).text);
  }
  const all = [...texts].join('\n');
  for (const part of ['Žluťoučký', '日本', 'مقهى', 'קפה', '🚀', '\\"', '\\\\', '\\n', 'null', '[]']) {
    expect(all).toContain(part);
  }
  expect(
    Math.max(...[...all.matchAll(/"markdown":"(.*?[^\\])"/g)].map(([, text]) => text?.length ?? 0)),
  ).toBeGreaterThan(10_000);
});
