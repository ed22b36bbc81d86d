import { describe, expect, it } from 'vitest';
import { metaOf } from '../../../src/contract/fields.ts';
import { openMirror } from '../../query/mirror.ts';
import { SMALL, startEndpoint } from './support.ts';

describe('MCP resources', () => {
  it('document every tool, argument, field, table and column', async () => {
    const { mirror, client } = await open();
    const { resources } = await client.listResources();
    expect(resources.map(({ uri, mimeType }) => [uri, mimeType])).toEqual([
      ['sightline://dictionary', 'text/markdown'],
      ['sightline://freshness', 'application/json'],
    ]);
    const lines = (await read('sightline://dictionary', client)).split('\n');
    const sectionOf = (title: string): string[] => {
      const from = lines.indexOf(`### ${title}`);
      expect(from, title).toBeGreaterThan(0);
      const rest = lines.slice(from + 1);
      const to = rest.findIndex((line) => line.startsWith('#'));
      return to < 0 ? rest : rest.slice(0, to);
    };
    for (const { tool, query, tables } of mirror.catalogue.resources) {
      const section = sectionOf(tool).join('\n');
      for (const [name, parameter] of Object.entries(query)) {
        expect(section).toContain(`| \`${parameter.nameUnknown === true ? 'rows' : name}\` |`);
        expect(section).toContain(parameter.about);
      }
      for (const { fields } of tables) {
        for (const name of Object.keys(fields)) expect(section).toMatch(new RegExp(`\\b${name}\\b`));
        for (const field of Object.values(fields)) {
          const meta = metaOf(field);
          if (meta.as === 'column') expect(section).toContain(meta.about);
        }
      }
    }
    for (const { name, about, columns } of mirror.catalogue.tables) {
      const section = sectionOf(name);
      expect(section.join('\n')).toContain(about);
      for (const column of columns) {
        expect(section.some((line) => line.startsWith(`| \`${column.name}\` | ${column.kind} | `))).toBe(true);
      }
    }
  });

  it('report the freshness of each resource with ISO 8601 times', async () => {
    const { mirror, client } = await open();
    const told = JSON.parse(await read('sightline://freshness', client));
    const known = await mirror.service.freshness();
    expect(told).toMatchObject({ ready: true, status: 'complete', dataVersion: known.dataVersion });
    expect(Date.parse(told.syncedAt)).toBe(known.syncedAt);
    expect(told.resources).toHaveLength(known.resources.length);
    for (const { name, tool, asOf, partial } of told.resources) {
      const same = known.resources.find((resource) => resource.name === name);
      expect({ tool, partial }).toEqual({ tool: mirror.catalogue.get(name).tool, partial: same?.partial });
      expect(Date.parse(asOf)).toBe(same?.asOf);
    }
  });
});

async function open() {
  const mirror = await openMirror({ ...SMALL, choices: { rowModeParameter: 'rows' } });
  await mirror.publish();
  const endpoint = await startEndpoint(mirror.service);
  return { mirror, client: await endpoint.connect() };
}

async function read(uri: string, client: Awaited<ReturnType<typeof open>>['client']): Promise<string> {
  const { contents } = await client.readResource({ uri });
  expect(contents).toHaveLength(1);
  return (contents[0] as { text: string }).text;
}
