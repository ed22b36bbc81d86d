import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import type { TableResult } from '../../../src/read/metrics/table-result.ts';
import { chartSpecOf } from '../../../src/serve/mcp/charts/chart-spec.ts';
import { copyBefore, serviceBefore, sharedBefore, stillClock } from '../served-world.ts';
import { openMcp } from './stream-client.ts';
import { type Body, connect, startBareMcp } from './support.ts';

const workspace = copyBefore('small');
const service = serviceBefore(workspace);
const shared = sharedBefore(async (closeLater) => {
  const url = await startBareMcp(service(), {}, {}, stillClock, closeLater);
  return connect(url, '2026-07-28', {}, closeLater);
});

interface Svg {
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): ArrayLike<{ readonly textContent: string }>;
}

async function readSvg(uri: string): Promise<Svg> {
  const { contents } = await shared().readResource({ uri });
  const [content] = contents as [Body];
  expect(content).toMatchObject({ uri, mimeType: 'image/svg+xml' });
  return parseHTML(content.text).document.querySelector('svg') as unknown as Svg;
}

const ask = (given: Record<string, unknown>) => shared().callTool({ name: 'query_metrics', arguments: given });

const textsOf = (svg: Svg): string[] => Array.from(svg.querySelectorAll('text')).map(({ textContent }) => textContent);

const REQUESTS: Record<string, Record<string, unknown>> = {
  'lines of all engines': { metrics: ['visibility', 'responses'], group_by: ['engine'], grain: 'day' },
  'one line': { metrics: ['position'], grain: 'day' },
  'bars of competitors': { metrics: ['visibility'], group_by: ['entity'], order: ['-visibility'] },
  'bars of domains': { metrics: ['citing_responses'], group_by: ['domain'], order: ['-citing_responses'], limit: 40 },
  'one bar': { metrics: ['sentiment'] },
};

it.each(Object.entries(REQUESTS))(
  'a chart of query_metrics shows %s with n, as an image and as a linked SVG',
  async (name, request) => {
    const brand = workspace().brands[0]?.name ?? '';
    const result = await ask({ ...request, brand: [brand], chart: true });
    expect(result.isError ?? false, JSON.stringify(result.content).slice(0, 300)).toBe(false);
    const [, image, link] = result.content as [Body, Body, Body];
    expect(image).toMatchObject({ type: 'image', mimeType: 'image/png' });
    const png = Buffer.from(image.data, 'base64');
    expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
    expect(png.readUInt32BE(16)).toBe(2 * 720);
    expect(link).toMatchObject({ type: 'resource_link', mimeType: 'image/svg+xml' });
    const svg = await readSvg(link.uri);
    expect(svg.getAttribute('width')).toBe('720');
    const texts = textsOf(svg).join('\n');
    expect(texts).toContain(brand);
    const { about, _sightline: note } = result.structuredContent as Body;
    expect(about).toContain(texts.match(/\d+ \w{3}( \d{4})? to \d+ \w{3} \d{4}/)?.[0] ?? 'no days');
    if (!name.includes('domains')) expect(texts).toMatch(/n = \d/);
    if (name === 'lines of all engines') expect(note.remarks.join()).toContain('the first metric');
    if (name === 'bars of domains') expect(svg.querySelectorAll('rect').length).toBeLessThanOrEqual(21);
  },
);

describe('the rows of a chart', () => {
  it('are all rows of the request, whatever its limit and order are', async () => {
    const request = { metrics: ['visibility'], group_by: ['engine'], grain: 'day', chart: true };
    const all = await ask(request);
    const some = await ask({ ...request, limit: 5, order: ['-visibility'] });
    expect((some.structuredContent as Body).rows).toHaveLength(5);
    expect((all.structuredContent as Body).rows.length).toBeGreaterThan(5);
    expect(some.content.slice(1)).toEqual(all.content.slice(1));
  });

  it('are the first bars in the order of the call, with the number of all groups', async () => {
    const request = { metrics: ['citing_responses'], group_by: ['domain'], compare_to: 'previous', limit: 3 };
    const result = await ask({ ...request, order: ['-citing_responses_change'], chart: true, exact: true });
    const { columns, rows } = result.structuredContent as Body;
    const [, , link] = result.content as [Body, Body, Body];
    const texts = textsOf(await readSvg(link.uri));
    expect(texts.join('\n')).toMatch(/; 3 of \d+ groups/);
    const domains = rows.map((row: Body) => row[columns.indexOf('domain')]);
    expect(texts.filter((text) => domains.includes(text))).toEqual(domains);
  });

  it('end before the last period if the layer has cut them, and the chart names the cut', () => {
    const columns = ['engine', 'period', 'visibility', 'visibility_lower', 'visibility_upper', 'visibility_n'];
    const days = ['2026-03-01', '2026-03-02', '2026-03-03'];
    const rows = days.flatMap((day) => ['a', 'b'].map((engine) => [engine, day, 0.5, 0.4, 0.6, 90]));
    const result = {
      name: 'metrics',
      about: '',
      columns: columns.map((name) => ({ name, type: 'VARCHAR', about: '' })) as TableResult['columns'],
      rows: rows.slice(0, -1),
      sql: '',
      asOf: null,
      completeTo: null,
      partial: false,
      from: '2026-03-01',
      to: '2026-03-09',
      notCompared: null,
      truncated: true,
    };
    const chart = chartSpecOf({ result, groupBy: ['engine'], grain: 'day', brand: null, limit: 10_000 });
    expect(chart?.spec.series.map(({ points }) => points.map(({ day }) => day))).toEqual([
      ['2026-03-01', '2026-03-02'],
      ['2026-03-01', '2026-03-02'],
    ]);
    expect(chart?.spec.about).toContain('only the first 5 rows, none after 2026-03-02');
    expect(chart?.remarks.join()).toContain('only the first 5 rows, none after 2026-03-02');
  });
});

describe('a chart as a resource', () => {
  it('states in its subtitle the groups and intervals that it does not show', async () => {
    const svg = await readSvg('sightline://chart?metrics=responses&group_by=engine,prompt&grain=day');
    expect(textsOf(svg).join(' ')).toMatch(/by day; 8 of \d+ groups/);
    const lines = await readSvg('sightline://chart?metrics=visibility&group_by=engine,prompt&grain=day');
    expect(textsOf(lines).join(' ')).toMatch(/by day; 8 of \d+ groups; n = .* per day; intervals not shown/);
  });

  it('is rejected with the argument, its value and what is allowed', async () => {
    const client = shared();
    for (const [uri, message] of [
      ['sightline://chart?metrics=visibilty', /metrics is "visibilty"; allowed: .*did you mean "visibility"/],
      ['sightline://chart?metric=visibility', /parameter is "metric"; allowed: metrics/],
      ['sightline://chart?metrics=visibility&brand=Nobody', /unknown brand "Nobody"/],
      [
        'sightline://chart?metrics=visibility&from=1999-01-01&to=1999-01-02',
        /no values\. Change the days or the filters\.$/,
      ],
    ] as const)
      await expect(client.readResource({ uri }), uri).rejects.toMatchObject({
        code: -32602,
        message: expect.stringMatching(message),
      });
    for (const uri of ['sightline://chart/%E0%A4%A?metrics=visibility', 'sightline://chart/demo?metrics=visibility'])
      await expect(client.readResource({ uri }), uri).rejects.toThrow(
        /Unknown resource: .*sightline:\/\/chart\?metrics/,
      );
    const reader = await connect(await startBareMcp(service(), { scopes: ['read'] }));
    await expect(reader.readResource({ uri: 'sightline://chart?metrics=visibility' })).rejects.toThrow('scope metrics');
  });

  it('names its workspace if the server has several', async () => {
    const { config } = workspace();
    const client = await openMcp(['alpha', 'beta'].map((name) => ({ ...config, name })));
    const given = { workspace: 'beta', metrics: ['visibility'], group_by: ['brand'], chart: true };
    const [, , link] = (await client.call('query_metrics', given)).content;
    expect(link.uri).toMatch(/^sightline:\/\/chart\/beta\?metrics=visibility&/);
    const { result } = await client.request('resources/read', { uri: link.uri });
    expect(result.contents[0].text).toContain('>Visibility by brand</text>');
    const { error } = await client.request('resources/read', { uri: link.uri.replace('beta', 'gamma') });
    expect(error.message).toContain('workspace is "gamma"; allowed: alpha, beta');
    const { error: malformed } = await client.request('resources/read', { uri: link.uri.replace('beta', '%E0%A4%A') });
    expect(malformed.message).toContain('Unknown resource: ');
  });

  it('is absent, with a remark, if the result has no values', async () => {
    const given = { metrics: ['visibility'], from: '1999-01-01', to: '1999-01-02', chart: true };
    const { content, structuredContent } = await ask(given);
    expect(content).toHaveLength(1);
    expect((structuredContent as Body)._sightline.remarks.join()).toContain('there is no chart');
  });
});
