import { describe, expect, it } from 'vitest';
import { metaOf } from '../../../src/contract/fields.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { serverBefore } from '../http/support.ts';
import { clientBefore } from './support.ts';

const server = serverBefore();
const connected = clientBefore(server);

/** Tokens of the longest page of the data dictionary. */
const PIECE_TOKENS_MAX = 2_000;

describe('MCP resources', () => {
  it('are listed, and document every tool, field, table and column in short pieces', async () => {
    const { client } = connected();
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'sightline://tool/{name}',
      'sightline://table/{name}',
      expect.stringMatching(/^sightline:\/\/chart\{\?metrics,/),
    ]);
    const { resources } = await client.listResources();
    const tables = [...catalogue.tables, ...catalogue.histories];
    expect(resources.map(({ uri }) => uri)).toEqual([
      'sightline://dictionary',
      'sightline://freshness',
      ...catalogue.resources.map(({ tool }) => `sightline://tool/${tool}`),
      ...tables.map(({ name }) => `sightline://table/${name}`),
    ]);
    const index = await read('sightline://dictionary');
    for (const { tool, tables: filled } of catalogue.resources) {
      expect(index).toContain(`- \`${tool}\`: `);
      const text = await read(`sightline://tool/${tool}`);
      expect(estimateTokens(text)).toBeLessThan(PIECE_TOKENS_MAX);
      for (const { fields } of filled) {
        for (const name of Object.keys(fields)) expect(text).toMatch(new RegExp(`\\b${name}\\b`));
        for (const field of Object.values(fields)) {
          const meta = metaOf(field);
          if (meta.as === 'column') expect(text).toContain(meta.about);
        }
      }
    }
    for (const { name, about, columns } of tables) {
      expect(index).toContain(`- \`${name}\`: ${about}`);
      const text = await read(`sightline://table/${name}`);
      expect(estimateTokens(text)).toBeLessThan(PIECE_TOKENS_MAX);
      expect(text).toContain(about);
      for (const column of columns) expect(text).toContain(`| \`${column.name}\` | ${column.kind} | ${column.about} |`);
    }
    expect(estimateTokens(index)).toBeLessThan(PIECE_TOKENS_MAX);
  });

  it('are rejected with the nearest name if they are unknown', async () => {
    const read = (uri: string) => connected().client.readResource({ uri });
    await expect(read('sightline://table/respones')).rejects.toThrow(
      /; did you mean sightline:\/\/table\/responses\?$/,
    );
    await expect(read('sightline://tool/list_promts')).rejects.toThrow(
      /; did you mean sightline:\/\/tool\/list_prompts\?$/,
    );
    await expect(read('sightline://table/x')).rejects.toThrow(/sightline:\/\/table\/\{name\}$/);
  });

  it('report the freshness of each resource with ISO 8601 times', async () => {
    const told = JSON.parse(await read('sightline://freshness'));
    const known = await server().service.freshness();
    expect(told).toMatchObject({ ready: true, status: 'complete', dataVersion: known.dataVersion });
    expect(Date.parse(told.syncedAt)).toBe(known.syncedAt);
    expect(told.resources).toHaveLength(known.resources.length);
    for (const { name, tool, asOf, partial } of told.resources) {
      const same = known.resources.find((resource) => resource.name === name);
      expect({ tool, partial }).toEqual({ tool: catalogue.get(name).tool, partial: same?.partial });
      expect(Date.parse(asOf)).toBe(same?.asOf);
    }
  });
});

async function read(uri: string): Promise<string> {
  const { contents } = await connected().client.readResource({ uri });
  expect(contents).toHaveLength(1);
  return (contents[0] as { text: string }).text;
}
