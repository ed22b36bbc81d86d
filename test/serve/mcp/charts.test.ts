import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { parseHTML } from 'linkedom';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { McpOptions } from '../../../src/serve/mcp/tool-calls.ts';
import { cursorSecretOf, openService } from '../../../src/serve/open-service.ts';
import { mcpWorkspaces } from '../../../src/serve/serve-mcp.ts';
import { workspaceBefore } from '../../web/support.ts';
import { openStream } from './stream-client.ts';
import { type Body, connect, startBareMcp } from './support.ts';

const workspace = workspaceBefore(9, { brands: 2, prompts: 3, responsesPerDay: 12 });

async function open(options: McpOptions = {}): Promise<Client> {
  const { config } = workspace();
  const service = openService(config, systemClock, await cursorSecretOf(config, false), 30_000);
  onTestFinished(() => service.close());
  return connect(await startBareMcp(service, options));
}

async function firstBrand(client: Client): Promise<string> {
  const { structuredContent } = await client.callTool({
    name: 'list_dimension_values',
    arguments: { dimension: 'brand' },
  });
  return (structuredContent as Body).values[0][1];
}

interface Svg {
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): ArrayLike<{ readonly textContent: string }>;
}

async function readSvg(client: Client, uri: string): Promise<Svg> {
  const { contents } = await client.readResource({ uri });
  const [content] = contents as [Body];
  expect(content).toMatchObject({ uri, mimeType: 'image/svg+xml' });
  return parseHTML(content.text).document.querySelector('svg') as unknown as Svg;
}

const textsOf = (svg: Svg): string[] => Array.from(svg.querySelectorAll('text')).map(({ textContent }) => textContent);

const REQUESTS: Record<string, Record<string, unknown>> = {
  'lines of two engines': {
    metrics: ['visibility'],
    group_by: ['engine'],
    grain: 'week',
    where: { engine: ['chatgpt', 'perplexity'] },
  },
  'lines of all engines': { metrics: ['visibility', 'responses'], group_by: ['engine'], grain: 'day' },
  'one line': { metrics: ['position'], grain: 'day' },
  'bars of competitors': { metrics: ['visibility'], group_by: ['entity'], order: ['-visibility'] },
  'bars of prompts': { metrics: ['visibility'], group_by: ['prompt'] },
  'bars of domains': { metrics: ['citing_responses'], group_by: ['domain'], order: ['-citing_responses'], limit: 40 },
  'one bar': { metrics: ['sentiment'] },
};

describe('a chart of query_metrics', () => {
  it.each(Object.entries(REQUESTS))('shows %s with n, as an image and as a linked SVG', async (name, request) => {
    const client = await open();
    const brand = await firstBrand(client);
    const result = await client.callTool({
      name: 'query_metrics',
      arguments: { ...request, brand: [brand], chart: true },
    });
    expect(result.isError ?? false, JSON.stringify(result.content).slice(0, 300)).toBe(false);
    const [, image, link] = result.content as [Body, Body, Body];
    expect(image).toMatchObject({ type: 'image', mimeType: 'image/png' });
    const png = Buffer.from(image.data, 'base64');
    expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
    expect(png.readUInt32BE(16)).toBe(2 * 720);
    expect(link).toMatchObject({ type: 'resource_link', mimeType: 'image/svg+xml' });
    const svg = await readSvg(client, link.uri);
    if (process.env['CHARTS_TO'] !== undefined)
      await writeFile(join(process.env['CHARTS_TO'], `${name.replaceAll(' ', '-')}.png`), png);
    expect(svg.getAttribute('width')).toBe('720');
    const texts = textsOf(svg).join('\n');
    expect(texts).toContain(brand);
    const { about, _sightline: note } = result.structuredContent as Body;
    expect(about).toContain(texts.match(/\d{4}-\d{2}-\d{2} to \d{4}-\d{2}-\d{2}/)?.[0] ?? 'no days');
    if (!name.includes('domains')) expect(texts).toMatch(/n = \d/);
    if (name === 'lines of all engines') expect(note.remarks.join()).toContain('the first metric');
    if (name === 'bars of domains') expect(svg.querySelectorAll('rect').length).toBeLessThanOrEqual(21);
  });
});

describe('a chart as a resource', () => {
  it('takes the arguments of query_metrics from its URI', async () => {
    const client = await open();
    const { resourceTemplates } = await client.listResourceTemplates();
    const template = resourceTemplates.find(({ name }) => name === 'chart');
    expect(template?.uriTemplate).toMatch(/^sightline:\/\/chart\{\?metrics,group_by,grain,brand,/);
    const svg = await readSvg(client, 'sightline://chart?metrics=visibility&group_by=brand,engine');
    expect(textsOf(svg)).toContain('Visibility by brand and engine');
  });

  it('is rejected with the argument, its value and what is allowed', async () => {
    const client = await open();
    for (const [uri, message] of [
      ['sightline://chart?metrics=visibilty', /metrics is "visibilty"; allowed: .*did you mean "visibility"/],
      ['sightline://chart?metric=visibility', /parameter is "metric"; allowed: metrics/],
      ['sightline://chart?metrics=visibility&brand=Nobody', /unknown brand "Nobody"/],
      ['sightline://chart?metrics=visibility&from=1999-01-01&to=1999-01-02', /no values/],
    ] as const)
      await expect(client.readResource({ uri }), uri).rejects.toThrow(message);
    const reader = await open({ scopes: ['read'] });
    await expect(reader.readResource({ uri: 'sightline://chart?metrics=visibility' })).rejects.toThrow('scope metrics');
  });

  it('names its workspace if the server has several', async () => {
    const { config } = workspace();
    const configs = new Map(['alpha', 'beta'].map((name) => [name, { ...config, name }]));
    const onError = (error: Error): void => expect.unreachable(error.message);
    const context = { clock: systemClock, signal: new AbortController().signal };
    const client = await openStream((streams) =>
      mcpWorkspaces(configs, context, { streams, queryTimeoutMs: 30_000, onError }),
    );
    const given = { workspace: 'beta', metrics: ['visibility'], group_by: ['brand'], chart: true };
    const [, , link] = (await client.call('query_metrics', given)).content;
    expect(link.uri).toMatch(/^sightline:\/\/chart\/beta\?metrics=visibility&/);
    const { result } = await client.request('resources/read', { uri: link.uri });
    expect(result.contents[0].text).toContain('>Visibility by brand</text>');
    const { error } = await client.request('resources/read', { uri: link.uri.replace('beta', 'gamma') });
    expect(error.message).toContain('unknown workspace "gamma"; allowed: alpha, beta');
  });

  it('is absent, with a remark, if the result has no values', async () => {
    const client = await open();
    const given = { metrics: ['visibility'], from: '1999-01-01', to: '1999-01-02', chart: true };
    const { content, structuredContent } = await client.callTool({ name: 'query_metrics', arguments: given });
    expect(content).toHaveLength(1);
    expect((structuredContent as Body)._sightline.remarks.join()).toContain('there is no chart');
  });
});
