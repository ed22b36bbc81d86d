import type { Client } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { dimensions } from '../../../src/analytics/model/dimensions.ts';
import { addDays, dayOf } from '../../../src/contract/time.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { brandAttempts } from '../../operations/sql/brand-attempts.ts';
import { serveBefore } from './serve-before.ts';
import { type Body, call } from './support.ts';

const world = serveBefore(8, { brands: 3, prompts: 4 });
const endpoints = catalogue.resources.map(({ tool }) => tool);
const toolsOf = (scope: string): string[] => dataTools.flatMap((tool) => (tool.scope === scope ? [tool.name] : []));
const namesOf = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
const today = dayOf(Date.now());
const [from, to] = [addDays(today, -3), addDays(today, -1)];

describe('the scopes of a key', () => {
  it('select the tools that a client sees, and the instructions about them', async () => {
    for (const [scopes, tools, absent] of [
      [['read', 'metrics', 'snapshots'], [...toolsOf('metrics'), ...endpoints], 'query (SQL)'],
      [['sql'], toolsOf('sql'), 'query_metrics'],
      [['metrics'], toolsOf('metrics'), 'The other tools are the endpoints'],
      [['read'], endpoints, 'query_metrics'],
      [['read', 'metrics', 'sql'], dataTools.map(({ name }) => name).concat(endpoints), null],
    ] as const) {
      const client = await world().connectAs({ scopes: [...scopes] });
      expect(await namesOf(client), scopes.join()).toEqual(tools);
      if (absent !== null) expect(client.getInstructions(), scopes.join()).not.toContain(absent);
    }
  });

  it('reject calls of the other tools, whatever the arguments', async () => {
    for (const [scope, others] of [
      ['read', ['metrics', 'sql']],
      ['metrics', ['read', 'sql']],
      ['sql', ['read', 'metrics']],
    ] as const) {
      const client = await world().connectAs({ scopes: [scope] });
      for (const other of others) {
        for (const name of other === 'read' ? endpoints : toolsOf(other)) {
          for (const values of [{}, { sql: 'SELECT 1', table: 'brands', metrics: ['visibility'] }]) {
            const { isError, text, shown } = await call(client, name, values);
            expect({ name, isError, shown }).toEqual({ name, isError: true, shown: undefined });
            expect(text, name).toContain(`forbidden: the key lacks the scope ${other}`);
          }
        }
      }
    }
  });

  it('are those of a key without scopes by default, which has no SQL', async () => {
    const client = await world().connectAs({});
    expect(await namesOf(client)).toEqual([...toolsOf('metrics'), ...endpoints]);
    expect((await call(client, 'query', { sql: 'SELECT 1' })).text).toContain('forbidden: the key lacks the scope sql');
  });
});

describe('a key for one brand', () => {
  let client: Client;
  let own = { id: '', name: '' };
  let others: { id: string; name: string }[] = [];
  /** Ids and names that only belong to the other brands. */
  let secrets: string[] = [];

  beforeAll(async () => {
    const [first, ...more] = world().sandbox.world.brands;
    own = { id: first?.id ?? '', name: first?.name ?? '' };
    others = more.map(({ id, name }) => ({ id, name }));
    client = await world().connectAs({ scopes: ['read', 'metrics', 'sql'], brands: [own.id] });
    const sql = ['prompts', 'competitors', 'topics', 'tags', 'responses', 'articles', 'alerts', 'forum_opportunities']
      .map((table) => `(SELECT CAST(id AS VARCHAR) FROM ${table} WHERE brand_id <> '${own.id}' LIMIT 40)`)
      .join(' UNION ALL ');
    const found = await call(world().client, 'query', { sql, limit: 1_000, max_tokens: 20_000 });
    expect(found.note.omitted).toBeUndefined();
    secrets = [...found.shown.rows.flat(), ...others.flatMap(({ id, name }) => [id, name])];
    expect(secrets.length).toBeGreaterThan(100);
  });

  /** Returns the secrets in everything that a client receives for a call, except texts that the call itself contains. */
  async function seenIn(by: Client, name: string, values: Record<string, unknown>): Promise<string[]> {
    const result = await by.callTool({ name, arguments: values }).catch((thrown: Error) => thrown.message);
    const given = JSON.stringify(values).toLowerCase();
    const text = JSON.stringify(result).toLowerCase();
    const inJson = (secret: string): string => JSON.stringify(secret).slice(1, -1).toLowerCase();
    return secrets.filter((secret) => text.includes(inJson(secret)) && !given.includes(inJson(secret)));
  }

  /** Attempts to see other brands with the data tools and the endpoints. */
  function attempts(): { name: string; values: Record<string, unknown> }[] {
    const [one = own, two = own] = others;
    // Exact, in other letter case, as a beginning, misspelt, in a list, and with the own brand.
    const namings = [
      one.id,
      one.id.toUpperCase(),
      one.id.slice(0, 8),
      one.name,
      one.name.toUpperCase(),
      one.name.slice(0, 5),
    ];
    const wrong = [`${one.name.slice(0, -1)}~`, `${two.name.slice(1)}`, ...namings];
    const lists = [...wrong, [own.id, one.id], [own.name, `${two.name.slice(0, -1)}~`], `${own.name},${one.name}`];
    const prompt = secrets[0];
    const ofBrand = (brand: unknown): { name: string; values: Record<string, unknown> }[] => [
      { name: 'query_metrics', values: { metrics: ['visibility'], group_by: ['brand'], brand, from, to } },
      { name: 'list_dimension_values', values: { dimension: 'prompt', brand } },
      { name: 'explain_change', values: { metric: 'visibility', brand, from, to } },
      { name: 'what_changed', values: { since: '300d', brand } },
      { name: 'find_opportunities', values: { brand } },
    ];
    return [
      ...lists.flatMap(ofBrand),
      ...dimensions.flatMap(({ name }) => [
        { name: 'list_dimension_values', values: { dimension: name, limit: 10_000, max_tokens: 20_000 } },
        { name: 'list_dimension_values', values: { dimension: name, search: one.name.slice(0, 4) } },
      ]),
      ...[
        ['brand'],
        ['brand', 'entity'],
        ['brand', 'prompt'],
        ['brand', 'engine'],
        ['brand', 'topic'],
        ['brand', 'tag'],
      ].map((group_by) => ({
        name: 'query_metrics',
        values: { metrics: ['visibility'], group_by, exact: true, include_sql: true, max_tokens: 20_000 },
      })),
      {
        name: 'query_metrics',
        values: { metrics: ['citations'], group_by: ['brand', 'domain', 'owner'], exact: true },
      },
      ...[{ prompt }, { competitor: one.name.slice(0, -1) }, { prompt: one.id }, { topic: one.name.slice(0, 4) }].map(
        (where) => ({
          name: 'query_metrics',
          values: { metrics: ['visibility'], group_by: ['brand', 'prompt'], where },
        }),
      ),
      {
        name: 'query_metrics',
        values: { metrics: ['visibility'], group_by: ['entity'], order: [one.name.slice(0, -1)] },
      },
      { name: 'explain_change', values: { metric: 'visibility', brand: own.id, where: { prompt }, from, to } },
      { name: 'what_changed', values: { since: '300d', limit: 200, max_tokens: 20_000 } },
      ...endpoints.flatMap((name) => [
        ...wrong.map((brandId) => ({ name, values: { brandId } })),
        { name, values: { brandId: own.id } },
        { name, values: {} },
      ]),
      ...[{ promptId: prompt }, { competitorId: one.name.slice(0, -1) }, { topicId: one.id }].map((more) => ({
        name: 'list_responses',
        values: { brandId: own.id, ...more },
      })),
    ];
  }

  it('sees no other with the metrics tools and the endpoints, in results, errors and suggestions', async () => {
    const all = attempts();
    expect(all.length).toBeGreaterThan(150);
    for (const { name, values } of all)
      expect(await seenIn(client, name, values), `${name} ${JSON.stringify(values)}`).toEqual([]);
    expect(
      (await call(client, 'query_metrics', { metrics: ['visibility'], group_by: ['brand'] })).shown.rows,
    ).toHaveLength(1);
  });

  it('gets the same error for another brand as for none', async () => {
    const nobody = '00000000-0000-4000-8000-000000000000';
    for (const { id } of others) {
      for (const [name, values] of [
        ['query_metrics', { metrics: ['visibility'] }],
        ['list_dimension_values', { dimension: 'prompt' }],
        ['explain_change', { metric: 'visibility' }],
        ['what_changed', { since: '7d' }],
        ['find_opportunities', {}],
      ] as const) {
        const foreign = await call(client, name, { ...values, brand: [id] });
        const missing = await call(client, name, { ...values, brand: [nobody] });
        expect([foreign.isError, missing.isError], name).toEqual([true, true]);
        expect(foreign.text.replaceAll(id, nobody), name).toBe(missing.text);
      }
    }
  });

  it('sees no other with SQL, in the tools that describe tables, and in resources', async () => {
    const all = brandAttempts({ own: own.id, file: world().replica });
    expect(all.length).toBeGreaterThanOrEqual(30);
    for (const sql of all) expect(await seenIn(client, 'query', { sql, max_tokens: 20_000 }), sql).toEqual([]);
    for (const { id, name } of others) {
      const matching = `SELECT (SELECT count(*) FROM brands WHERE id = '${id}' OR name = '${name.replaceAll("'", "''")}'),
        (SELECT count(*) FROM responses WHERE brand_id = '${id}'), (SELECT count(*) FROM mart.fct_response WHERE brand_id = '${id}')`;
      expect((await call(client, 'query', { sql: matching })).shown.rows).toEqual([[0, 0, 0]]);
      const column = await call(client, 'query', { sql: `SELECT "${name.slice(0, -1)}" FROM brands` });
      expect(column.text).not.toContain(name);
      expect(await seenIn(client, 'list_tables', { search: name.slice(0, 4) })).toEqual([]);
      expect(await seenIn(client, 'describe_table', { table: name.slice(0, -1) })).toEqual([]);
    }
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    for (const uri of [...uris, 'sightline://table/mart.dim_brand', `sightline://table/${others[0]?.name}~`]) {
      const text = JSON.stringify(await client.readResource({ uri }).catch((thrown: Error) => thrown.message));
      const seen = secrets.filter((secret) => text.includes(secret) && !uri.includes(secret));
      expect(seen, uri).toEqual([]);
    }
  });

  it('reads all of its own, and the attempts show the others to a key for all brands', async () => {
    const rows = async (by: Client): Promise<Body> =>
      (
        await call(by, 'query_metrics', {
          metrics: ['visibility', 'responses'],
          group_by: ['engine'],
          brand: [own.name],
          exact: true,
        })
      ).shown.rows;
    expect(await rows(client)).toEqual(await rows(world().client));
    const shown = new Set<string>();
    for (const { name, values } of attempts()) {
      if (endpoints.includes(name) || shown.has(name)) continue;
      if ((await seenIn(world().client, name, values)).length > 0) shown.add(name);
    }
    expect(shown).toEqual(new Set(toolsOf('metrics').filter((name) => name !== 'list_metrics')));
    expect(await seenIn(world().client, 'query', { sql: 'FROM brands' })).not.toEqual([]);
  });
});
