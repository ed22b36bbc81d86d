import { dirname } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKey } from '../../../src/serve/auth/keys.ts';
import { APP_PATHS } from '../../../src/serve/http/page-paths.ts';
import type { ServeWorkspaceOptions } from '../../../src/serve/serve-workspace.ts';
import { readFilters } from '../../../src/web/app/state/filters.ts';
import { writeServerRecord } from '../../../src/workspace/server-record.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { openFleetServer } from '../fleet-server.ts';
import {
  type CloseLater,
  copyBefore,
  openCopy,
  serveWorld,
  sharedBefore,
  stillClock,
  type WorldBrand,
} from '../served-world.ts';
import { openMcp } from './stream-client.ts';
import { type Body, call, connect } from './support.ts';

const workspace = copyBefore('small');
const key = sharedBefore(async () => (await createKey(workspace().config.folder, 'test', null, NOW_MS)).text);
const served = sharedBefore((closeLater) => serve({}, closeLater));

/** Serves the workspace; `origin` is the address of its pages. */
async function serve(changes: Partial<ServeWorkspaceOptions>, closeLater: CloseLater = onTestFinished) {
  const server = await serveWorld(workspace().config, changes);
  closeLater(server.close);
  const client = await connect(server.mcpUrl, '2026-07-28', { Authorization: `Bearer ${key()}` }, closeLater);
  return { client, origin: new URL(server.baseUrl).origin };
}

/** A link, as the pages read their address. */
function readLink(url: string, origin: string) {
  expect(url.startsWith(`${origin}/`), url).toBe(true);
  const { pathname, searchParams } = new URL(url.slice(origin.length), 'http://pages.invalid');
  expect(APP_PATHS).toContain(pathname);
  return { path: pathname, filters: readFilters(searchParams), search: Object.fromEntries(searchParams) };
}

async function firstValue(client: Client, dimension: string, brand: string): Promise<string> {
  const { shown } = await call(client, 'list_dimension_values', { dimension, brand: [brand] });
  return shown.values.find(([id]: [string | null]) => id !== null && id !== 'brand')?.find(isId) as string;
}

const isId = (value: string | null): boolean => value !== null && /^[0-9a-f]{8}-/.test(value);

describe('the link of a result of query_metrics', () => {
  it('shows the page of the dimension with the brand, days and filters of the call', async () => {
    const { client, origin } = served();
    const brand = workspace().brands[0] as WorldBrand;
    const [topic, competitor] = [
      await firstValue(client, 'topic', brand.id),
      await firstValue(client, 'entity', brand.id),
    ];
    const pages: Body = {
      '/': [],
      '/prompts': ['prompt'],
      '/competitors': ['entity'],
      '/topics': ['topic'],
      '/sources': ['domain'],
    };
    const { shown: days } = await call(client, 'query_metrics', { metrics: ['responses'], brand: [brand.name] });
    const to = days._sightline.completeTo as string;
    const from = new Date(Date.parse(to) - 6 * 86_400_000).toISOString().slice(0, 10);
    for (const [path, group_by] of Object.entries(pages)) {
      const { shown, isError, text } = await call(client, 'query_metrics', {
        metrics: [path === '/sources' ? 'citations' : 'visibility'],
        group_by,
        brand: [brand.name],
        from,
        to,
        compare_to: 'year',
        where: { engine: ['chatgpt'], topic, branded: 'non-branded', competitor },
      });
      expect(isError, text).toBe(false);
      const link = readLink(shown.url, origin);
      expect(link.path).toBe(path);
      expect(link.filters).toEqual({
        brand: brand.id,
        range: null,
        from,
        to,
        engine: ['chatgpt'],
        topic,
        tag: null,
        branded: 'non-branded',
        prompt: null,
        competitor,
        compareTo: 'year',
      });
    }
    const traffic = await call(client, 'query_metrics', { metrics: ['ai_sessions'], brand: [brand.id] });
    expect(readLink(traffic.shown.url, origin).path).toBe('/traffic');
    expect(readLink(days.url, origin).filters).toMatchObject({ to, compareTo: 'none' });
    const tags = await call(client, 'query_metrics', { metrics: ['visibility'], group_by: ['tag'], brand: [brand.id] });
    expect(readLink(tags.shown.url, origin)).toMatchObject({ path: '/topics', search: { view: 'tag' } });
  });

  it('compares two brands, and is absent if no page shows the same view', async () => {
    const { client, origin } = served();
    const [a, b] = workspace().brands;
    const both = await call(client, 'query_metrics', { metrics: ['visibility'], group_by: ['brand'] });
    const link = readLink(both.shown.url, origin);
    expect(link.path).toBe('/compare');
    expect([link.search['a'], link.search['b']].sort()).toEqual([a?.id, b?.id].sort());
    expect(link.search['of']).toBe('brand');
    const prompts = await call(client, 'query_metrics', { metrics: ['visibility'], group_by: ['prompt'] });
    expect(prompts.isError).toBe(false);
    expect(prompts.shown).not.toHaveProperty('url');
  });
});

it('the links of explanations, changes and opportunities show both periods, the days since the time, and the page of their kind', async () => {
  const { client, origin } = served();
  const brand = workspace().brands[0] as WorldBrand;
  const explained = await call(client, 'explain_change', { metric: 'visibility', brand: brand.name });
  const { from, to, before_from, before_to, url } = explained.shown;
  const link = readLink(url, origin);
  expect(link).toMatchObject({ path: '/compare', filters: { brand: brand.id, from, to } });
  expect(link.search).toMatchObject({ of: 'period', a: `${from}..${to}`, b: `${before_from}..${before_to}` });

  const changed = await call(client, 'what_changed', { since: '30d', brand: [brand.name] });
  expect(readLink(changed.shown.url, origin).filters).toMatchObject({ brand: brand.id, range: null });
  const alerts = await call(client, 'what_changed', { since: '30d', brand: [brand.name], kind: ['alert'] });
  expect(alerts.shown.counts.alert).toBeGreaterThan(0);
  expect(readLink(alerts.shown.url, origin).path).toBe('/alerts');

  const found = await call(client, 'find_opportunities', { brand: brand.name });
  expect(readLink(found.shown.url, origin)).toMatchObject({
    path: '/opportunities',
    filters: { brand: brand.id, from: found.shown.from, to: found.shown.to },
  });
});

describe('the address of the pages', () => {
  it('is not known without pages, or for a server that other machines reach', async () => {
    for (const changes of [{ pages: 'off' }, { allowedHosts: ['data.example.com'] }] as const) {
      const { client } = await serve(changes);
      const { shown } = await call(client, 'query_metrics', { metrics: ['responses'] });
      expect(shown.rows.length).toBeGreaterThan(0);
      expect(shown).not.toHaveProperty('url');
    }
  });

  it('has the prefix of the workspace if a server has several', async () => {
    const { config } = workspace();
    const workspaces = () => new Map([[config.name, config]]);
    const server = await openFleetServer({ fleetFolder: dirname(config.folder), workspaces }, { clock: stillClock });
    const client = await connect(server.mcpUrl, '2026-07-28', { Authorization: `Bearer ${key()}` });
    const { shown } = await call(client, 'query_metrics', { metrics: ['visibility'], group_by: ['brand'] });
    const prefix = `${new URL(server.baseUrl).origin}/w/${config.name}`;
    expect(readLink(shown.url, prefix).path).toBe('/compare');
  });

  it('is that of a running server of the same workspace over stdio', async () => {
    const { config } = await openCopy('small', onTestFinished);
    const client = await openMcp([config]);
    const firstUrl = async (): Promise<string | undefined> =>
      (await client.call('query_metrics', { metrics: ['responses'] })).structuredContent.url;
    expect(await firstUrl()).toBeUndefined();
    const remove = await writeServerRecord(config.folder, 'http://127.0.0.1:4321', 'serve');
    const during = await firstUrl();
    await remove();
    expect(readLink(during ?? '', 'http://127.0.0.1:4321').path).toBe('/compare');
  });
});
