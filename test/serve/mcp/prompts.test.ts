import { describe, expect, it } from 'vitest';
import { isRecord } from '../../../src/base/json.ts';
import { mcpWorkspace, mcpWorkspaces } from '../../../src/serve/serve-mcp.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { layoutOf } from '../../../src/snapshot/layout.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';
import { openCopy, openWorldService, sharedBefore, stillClock } from '../served-world.ts';
import { openStream, type StreamClient } from './stream-client.ts';
import { type Body, connect, startBareMcp } from './support.ts';

/** Prompts compare a week with the week before, of which the world has no responses. */
const WEEK_BEFORE = `INSERT INTO responses BY NAME
  SELECT * REPLACE (uuid() AS id, created_at - INTERVAL 7 DAY AS created_at) FROM responses`;

const workspace = sharedBefore(async (closeLater) => {
  const world = await openCopy('small', closeLater);
  const { database, close } = await openWarehouse(layoutOf(world.config.folder).warehouse, catalogue, {});
  await database.exclusive(({ run }) => run(WEEK_BEFORE));
  await publishAnalytics(database, world.copy);
  await close();
  return world;
});

const NAMES = ['weekly_brand_brief', 'competitor_deep_dive', 'explain_alert', 'content_gaps', 'data_quality_check'];
const options = { queryTimeoutMs: 30_000, onError: (error: Error) => expect.unreachable(error.message) };

const context = { clock: stillClock, signal: new AbortController().signal, command: 'mcp' };

/** The workspace, served like by `sightline mcp`. */
const single = sharedBefore((closeLater) =>
  openStream(
    (streams) =>
      mcpWorkspace({ config: workspace().config, ...context }, { ...options, streams, onStart: () => undefined }),
    closeLater,
  ),
);

/** The workspace twice, with two names, served like by `sightline mcp --all`. */
const several = sharedBefore((closeLater) => {
  const { config } = workspace();
  const configs = new Map(['alpha', 'beta'].map((name) => [name, { ...config, name }]));
  return openStream((streams) => mcpWorkspaces(configs, context, { ...options, streams }), closeLater);
});

const service = sharedBefore(async (closeLater) => {
  const opened = openWorldService(workspace().config);
  closeLater(opened.close);
  return opened;
});

const openLimited = async (brand: string, more: object = {}) =>
  connect(await startBareMcp(service().limitedTo([brand]), more));

interface PlannedCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

function callsOf(text: string): PlannedCall[] {
  return [...text.matchAll(/```json\n(.*)\n```/g)].map(([, json]) => JSON.parse(json as string));
}

async function promptText(client: StreamClient, name: string, given: object): Promise<string> {
  const response = await client.request('prompts/get', { name, arguments: given });
  expect(response.error).toBeUndefined();
  expect(response.result.messages).toHaveLength(1);
  const [message] = response.result.messages;
  expect([message.role, message.content.type]).toEqual(['user', 'text']);
  return message.content.text;
}

function textOf(messages: Body): string {
  return messages[0].content.text;
}

/** Returns the number of rows of a result: the greatest of its lists. */
function rowsOf(shown: Body): number {
  const lists = Object.values(shown as object).map((value) => {
    if (Array.isArray(value)) return value.length;
    return isRecord(value) && Array.isArray(value['rows']) ? value['rows'].length : 0;
  });
  return Math.max(0, ...lists);
}

async function namesOf(client: StreamClient, given: object = {}): Promise<{ brand: string; competitor: string }> {
  const brands = await complete(client, 'competitor_deep_dive', 'brand', '', given);
  const [brand = ''] = brands.values;
  const { values } = await complete(client, 'competitor_deep_dive', 'competitor', '', { ...given, brand });
  return { brand, competitor: values[0] ?? '' };
}

async function complete(client: StreamClient, prompt: string, name: string, value: string, given: object = {}) {
  const ref = { type: 'ref/prompt', name: prompt };
  const response = await client.request('completion/complete', {
    ref,
    argument: { name, value },
    context: { arguments: given },
  });
  expect(response.error).toBeUndefined();
  return response.result.completion as { values: string[]; total: number; hasMore: boolean };
}

describe.each([
  ['one workspace', single, {}],
  ['several workspaces', several, { workspace: 'beta' }],
] as const)('the prompts over %s', (_, open, named) => {
  it('plan calls that all succeed and return rows', async () => {
    const client = open();
    const { result } = await client.request('prompts/list');
    expect(result.prompts.map(({ name }: Body) => name)).toEqual(NAMES);
    const { brand, competitor } = await namesOf(client, named);
    for (const { name, arguments: declared } of result.prompts) {
      const values: Record<string, string> = { ...named, brand, competitor };
      const given = Object.fromEntries(
        declared.flatMap((argument: Body) => (argument.name in values ? [[argument.name, values[argument.name]]] : [])),
      );
      const text = await promptText(client, name, given);
      expect(text).toContain(JSON.stringify(brand));
      const calls = callsOf(text);
      expect(calls.length).toBeGreaterThanOrEqual(5);
      for (const { name: tool, arguments: planned } of calls) {
        const called = await client.call(tool, planned);
        const about = `${name}: ${tool} ${JSON.stringify(planned)}: ${called.content[0].text}`.slice(0, 500);
        expect(called.isError ?? false, about).toBe(false);
        // Forum threads and pages that are cited once are rare in a small world.
        if (!JSON.stringify(planned).includes('forum_thread'))
          expect(rowsOf(called.structuredContent), about).toBeGreaterThan(0);
      }
    }
  });
});

describe('the arguments of prompts', () => {
  it('are names, beginnings of names or ids', async () => {
    const client = single();
    const { brand } = await namesOf(client);
    const texts = await Promise.all(
      [brand, brand.slice(0, -1), brand.toUpperCase()].map((given) =>
        promptText(client, 'content_gaps', { brand: given, to: '2026-03-10' }),
      ),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('2026-02-11 to 2026-03-10');
    const brief = await promptText(client, 'weekly_brand_brief', { brand, to: '2026-03-10' });
    expect(brief).toContain('The events of the week. The tool has no last day: ignore events after 2026-03-10.');
  });

  it('are rejected with the value and the allowed ones', async () => {
    const client = several();
    const { brand } = await namesOf(client, { workspace: 'alpha' });
    const known = { workspace: 'alpha', brand };
    const cases: [string, object, RegExp][] = [
      ['weekly_brand', known, /prompt is "weekly_brand"; allowed: .*weekly_brand_brief.*did you mean/],
      ['weekly_brand_brief', { brand }, /workspace is missing; allowed: alpha, beta/],
      ['weekly_brand_brief', { workspace: 'gamma', brand }, /unknown workspace "gamma"; allowed: alpha, beta/],
      ['weekly_brand_brief', { workspace: 'alpha' }, /brand is required; allowed: .+ \(/],
      ['weekly_brand_brief', { ...known, brand: 'Nobody' }, /unknown brand "Nobody"; allowed: /],
      ['weekly_brand_brief', { ...known, until: '1' }, /no argument "until"; allowed: workspace, brand, to/],
      ['weekly_brand_brief', { ...known, to: '10 March' }, /to is "10 March"; allowed: a calendar day/],
      ['competitor_deep_dive', known, /competitor is required; allowed: .+ \(/],
      ['competitor_deep_dive', { ...known, competitor: 'Nobody' }, /unknown competitor "Nobody"; allowed: /],
      ['explain_alert', { ...known, alert: 'Nothing' }, /unknown alert "Nothing"; allowed: /],
    ];
    for (const [name, given, message] of cases) {
      const { error } = await client.request('prompts/get', { name, arguments: given });
      expect(error, name).toMatchObject({ code: -32602, message: expect.stringMatching(message) });
    }
  });

  it('plan only calls that the scopes of the caller allow', async () => {
    const brands = (await namesOf(single())).brand;
    const client = await openLimited(brands, { scopes: ['metrics'] });
    const { messages } = await client.getPrompt({ name: 'data_quality_check' });
    const tools = callsOf(textOf(messages)).map(({ name }) => name);
    expect(tools).toEqual(['query_metrics', 'query_metrics', 'what_changed']);
    const reader = await openLimited(brands, { scopes: ['read'] });
    expect((await reader.listPrompts()).prompts).toEqual([]);
    await expect(reader.getPrompt({ name: 'data_quality_check' })).rejects.toThrow('lacks the scope metrics');
  });
});

describe('the completion', () => {
  it('returns names that begin with the text before those that contain it', async () => {
    const client = several();
    expect(await complete(client, 'content_gaps', 'workspace', 'ta')).toEqual({
      values: ['beta'],
      total: 1,
      hasMore: false,
    });
    expect((await complete(client, 'content_gaps', 'brand', '')).values).toEqual([]);
    const all = (await complete(client, 'content_gaps', 'brand', '', { workspace: 'beta' })).values;
    expect(all).toHaveLength(2);
    const [first = ''] = all;
    const part = first.slice(1, 4).toUpperCase();
    expect((await complete(client, 'content_gaps', 'brand', part, { workspace: 'beta' })).values).toContain(first);
    const begun = await complete(client, 'content_gaps', 'brand', first.slice(0, 3), { workspace: 'beta' });
    expect(begun.values[0]).toBe(first);
    const known = { workspace: 'beta', brand: first };
    const alerts = await complete(client, 'explain_alert', 'alert', '', known);
    expect(alerts.total).toBeGreaterThan(0);
    expect(alerts.values.filter((alert) => /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(alert))).toEqual([]);
    for (const alert of alerts.values.slice(0, 3)) {
      expect(await promptText(client, 'explain_alert', { ...known, alert })).toContain('"name":"explain_change"');
    }
    // Several alerts of the workspace have the same headline.
    const dated = alerts.values.flatMap((alert) => {
      const day = /\((\d{4}-\d{2}-\d{2})\)$/.exec(alert)?.[1];
      return day === undefined ? [] : [{ alert, day }];
    });
    expect(new Set(alerts.values).size).toBe(alerts.total);
    expect(dated.length).toBeGreaterThan(0);
    for (const { alert, day } of dated.slice(-2))
      expect(await promptText(client, 'explain_alert', { ...known, alert })).toContain(`detected on ${day}`);
    expect((await complete(client, 'explain_alert', 'alert', 'no such alert', known)).total).toBe(0);
  });

  it('returns names of tools and tables, at most 100 with the total', async () => {
    const client = single();
    const values = async (uri: string, value: string, name = 'name') => {
      const ref = { type: 'ref/resource', uri };
      const { result } = await client.request('completion/complete', { ref, argument: { name, value } });
      return result.completion;
    };
    expect((await values('sightline://tool/{name}', 'get_m')).values).toEqual(['get_metrics']);
    const { result: templates } = await client.request('resources/templates/list');
    const chart = templates.resourceTemplates.find(({ name }: Body) => name === 'chart').uriTemplate;
    expect((await values(chart, 'visi', 'metrics')).values).toEqual(['visibility']);
    for (const text of ['response', 'p']) {
      const { values: tables } = await values('sightline://table/{name}', text);
      const isContained: boolean[] = tables.map((name: string) => !name.startsWith(text));
      expect(isContained[0]).toBe(false);
      expect(isContained).toEqual(isContained.toSorted());
    }
    const { result: all } = await client.request('resources/list');
    const count = all.resources.filter(({ uri }: Body) => uri.startsWith('sightline://table/')).length;
    const every = await values('sightline://table/{name}', '');
    expect(every.total).toBeGreaterThan(count);
    expect(every.hasMore).toBe(every.total > 100);
    expect(every.values).toHaveLength(Math.min(100, every.total));
    const marts = (await values('sightline://table/{name}', 'visibility_we')).values;
    expect(marts).toContain('mart.visibility_weekly');
    const { result: mart } = await client.request('resources/read', { uri: `sightline://table/${marts[0]}` });
    expect(mart.contents[0].text).toContain('visibility');
  });

  it('returns names of the data for the filters of charts, which select them', async () => {
    const client = single();
    const { result: templates } = await client.request('resources/templates/list');
    const uri = templates.resourceTemplates.find(({ name }: Body) => name === 'chart').uriTemplate;
    const values = async (name: string, value: string, given: object) => {
      const params = { ref: { type: 'ref/resource', uri }, argument: { name, value }, context: { arguments: given } };
      return (await client.request('completion/complete', params)).result.completion.values as string[];
    };
    const brands = await values('brand', '', {});
    expect(brands).toHaveLength(2);
    const [brand = ''] = brands;
    for (const name of ['engine', 'topic', 'tag', 'competitor']) {
      const [first = '', ...others] = await values(name, '', { brand });
      expect(first, name).not.toBe('');
      expect(await values(name, first.slice(1), { brand })).toContain(first);
      expect([...others, first]).not.toContain(brand);
      const given = new URLSearchParams({ metrics: 'responses', group_by: 'engine', brand, [name]: first });
      const { result, error } = await client.request('resources/read', { uri: `sightline://chart?${given}` });
      expect(error, `${name} ${first}`).toBeUndefined();
      expect(result.contents[0].text).toContain(brand);
    }
    const limited = await openLimited(brand);
    const ref = { type: 'ref/resource', uri } as const;
    const { completion } = await limited.complete({ ref, argument: { name: 'brand', value: '' } });
    expect(completion.values).toEqual([brand]);
    const reader = await openLimited(brand, { scopes: ['read'] });
    expect((await reader.complete({ ref, argument: { name: 'brand', value: '' } })).completion.values).toEqual([]);
    const plain = await reader.complete({
      ref: { type: 'ref/resource', uri: 'sightline://table/{name}' },
      argument: { name: 'name', value: 'mart.' },
    });
    expect(plain.completion.values).toEqual([]);
  });

  it('is rejected for unknown prompts, templates and arguments', async () => {
    const client = single();
    const cases = [
      [{ type: 'ref/prompt', name: 'nothing' }, 'brand', /prompt is "nothing"/],
      [{ type: 'ref/prompt', name: 'content_gaps' }, 'alert', /no argument "alert"; allowed: brand, to/],
      [{ type: 'ref/resource', uri: 'sightline://nothing/{name}' }, 'name', /Unknown resource template/],
      [{ type: 'ref/resource', uri: 'sightline://tool/{name}' }, 'other', /no argument "other"; allowed: name/],
    ] as const;
    for (const [ref, name, message] of cases) {
      const { error } = await client.request('completion/complete', { ref, argument: { name, value: '' } });
      expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(message) });
    }
  });

  it('contains only the brands of the caller, and competitors and alerts of these', async () => {
    const all = (await complete(single(), 'content_gaps', 'brand', '')).values;
    const [own = '', other = ''] = all;
    const client = await openLimited(own);
    const ref = { type: 'ref/prompt', name: 'explain_alert' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'brand', value: '' } });
    expect(completion.values).toEqual([own]);
    const alerts = await client.complete({ ref, argument: { name: 'alert', value: '' } });
    expect(alerts.completion.total).toBeGreaterThan(0);
    const foreign = { ref, argument: { name: 'alert', value: '' }, context: { arguments: { brand: other } } };
    expect((await client.complete(foreign)).completion).toEqual(alerts.completion);
    await expect(client.getPrompt({ name: 'content_gaps', arguments: { brand: other } })).rejects.toThrow(
      'unknown brand',
    );
  });
});
