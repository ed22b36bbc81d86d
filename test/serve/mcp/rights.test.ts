import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { dataTools } from '../../../src/serve/mcp/tool-set.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { sharedBefore, type WorldBrand } from '../served-world.ts';
import { serveBefore } from './serve-before.ts';
import { type Body, call } from './support.ts';

const world = serveBefore('small');
const endpoints = catalogue.resources.map(({ tool }) => tool);
const toolsOf = (scope: string): string[] => dataTools.flatMap((tool) => (tool.scope === scope ? [tool.name] : []));
const namesOf = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);

describe('the scopes of a key', () => {
  it('select the tools that a client sees, and the instructions about them', async () => {
    for (const [scopes, tools, absent] of [
      // The scopes of a key without scopes.
      [undefined, [...toolsOf('metrics'), ...endpoints], 'query (SQL)'],
      [['sql'], toolsOf('sql'), 'query_metrics'],
      [['metrics'], toolsOf('metrics'), 'The other tools are the endpoints'],
      [['read'], endpoints, 'query_metrics'],
      [['read', 'metrics', 'sql'], [...dataTools.map(({ name }) => name), ...endpoints], null],
    ] as const) {
      const client = await world().connectAs(scopes === undefined ? {} : { scopes: [...scopes] });
      expect(await namesOf(client), scopes?.join()).toEqual(tools);
      if (absent !== null) expect(client.getInstructions(), scopes?.join()).not.toContain(absent);
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
});

/** A key for the first brand, and ids and names that only belong to the other one. */
const limited = sharedBefore(async () => {
  const [own, other] = world().brands as [WorldBrand, WorldBrand];
  const client = await world().connectAs({ scopes: ['read', 'metrics', 'sql'], brands: [own.id] });
  const sql = ['prompts', 'competitors', 'topics', 'tags', 'responses', 'articles', 'alerts', 'forum_opportunities']
    .map((table) => `(SELECT CAST(id AS VARCHAR) FROM ${table} WHERE brand_id <> '${own.id}' LIMIT 40)`)
    .join(' UNION ALL ');
  const found = await call(world().client, 'query', { sql, limit: 1_000, max_tokens: 20_000 });
  expect(found.note.omitted).toBeUndefined();
  const secrets: string[] = [...found.shown.rows.flat(), other.id, other.name];
  expect(secrets.length).toBeGreaterThan(60);
  return { client, own, other, secrets };
});

/** Returns the secrets in everything that a client receives for a call, except texts that the call itself contains. */
async function seenIn(by: Client, name: string, values: Record<string, unknown>): Promise<string[]> {
  const result = await by.callTool({ name, arguments: values }).catch((thrown: Error) => thrown.message);
  const given = JSON.stringify(values).toLowerCase();
  const text = JSON.stringify(result).toLowerCase();
  const inJson = (secret: string): string => JSON.stringify(secret).slice(1, -1).toLowerCase();
  return limited().secrets.filter((secret) => text.includes(inJson(secret)) && !given.includes(inJson(secret)));
}

describe('a key for one brand', () => {
  it('is not shown a tool for data of all brands, and cannot call it', async () => {
    const { client } = limited();
    const own = endpoints.filter((tool) => tool !== 'get_credit_balance');
    expect(await namesOf(client)).toEqual([...dataTools.map(({ name }) => name), ...own]);
    await expect(client.callTool({ name: 'get_credit_balance' })).rejects.toThrow(/get_credit_balance/);
    expect(await namesOf(world().client)).toContain('get_credit_balance');
  });

  it('gets the same error for another brand as for none, with any tool, and no suggestion of its name', async () => {
    const { client, other } = limited();
    const nobody = '00000000-0000-4000-8000-000000000000';
    const mistyped = `${other.name.slice(0, -1)}~`;
    for (const [name, values] of [
      ['query_metrics', { metrics: ['visibility'] }],
      ['list_dimension_values', { dimension: 'prompt' }],
      ['explain_change', { metric: 'visibility' }],
      ['what_changed', { since: '7d' }],
      ['find_opportunities', {}],
      ['brief', {}],
      ['list_prompts', {}],
      ['get_article', { articleId: nobody }],
    ] as const) {
      const given = (id: string) => ({ ...values, ...(endpoints.includes(name) ? { brandId: id } : { brand: [id] }) });
      const [foreign, missing] = [await call(client, name, given(other.id)), await call(client, name, given(nobody))];
      expect([foreign.isError, missing.isError], name).toEqual([true, true]);
      expect(foreign.text.replaceAll(other.id, nobody), name).toBe(missing.text);
      expect(await seenIn(client, name, given(mistyped)), name).toEqual([]);
      expect(await seenIn(client, name, values), name).toEqual([]);
    }
    expect(await seenIn(client, 'list_brands', {})).toEqual([]);
  });

  it('sees no other with SQL and in resources', async () => {
    const { client, other, secrets } = limited();
    const { id, name } = other;
    const matching = `SELECT (SELECT count(*) FROM brands WHERE id = '${id}' OR name = '${name.replaceAll("'", "''")}'),
      (SELECT count(*) FROM responses WHERE brand_id = '${id}'), (SELECT count(*) FROM mart.fct_response WHERE brand_id = '${id}')`;
    expect((await call(client, 'query', { sql: matching })).shown.rows).toEqual([[0, 0, 0]]);
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    for (const uri of [...uris, 'sightline://table/mart.dim_brand', `sightline://table/${name}~`]) {
      const text = JSON.stringify(await client.readResource({ uri }).catch((thrown: Error) => thrown.message));
      expect(
        secrets.filter((secret) => text.includes(secret) && !uri.includes(secret)),
        uri,
      ).toEqual([]);
    }
  });

  it('reads all of its own, and the same calls show the other brand to a key for all brands', async () => {
    const { client, own } = limited();
    const given = { metrics: ['visibility', 'responses'], group_by: ['engine'], brand: [own.name], exact: true };
    const rowsFor = async (by: Client): Promise<Body> => (await call(by, 'query_metrics', given)).shown.rows;
    expect(await rowsFor(client)).toEqual(await rowsFor(world().client));
    for (const [name, values] of [
      ['query', { sql: 'FROM brands' }],
      ['what_changed', { since: '300d' }],
      ['list_brands', {}],
    ] as const)
      expect(await seenIn(world().client, name, values), name).not.toEqual([]);
  });
});
