import { describe, expect, it } from 'vitest';
import type { Resource } from '../../../src/contract/catalogue.ts';
import { dayOf } from '../../../src/contract/time.ts';
import { type Conventions, defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { dataTools } from '../../../src/serve/mcp/tool-set.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { openServer, serverBefore } from '../http/support.ts';
import { stillClock } from '../served-world.ts';
import {
  type Body,
  call,
  clientBefore,
  compareAll,
  compile,
  connect,
  connectTo,
  REVISIONS,
  startBareMcp,
  toContent,
  toolClient,
} from './support.ts';

const server = serverBefore();
const connected = clientBefore(server);

/** Arguments of data tools whose name is enough. */
const SELF_EXPLANATORY: readonly string[] = ['brand', 'before_to', 'include_sql'];

/** Tools that the specification names. */
const SPECIFIED = [
  'list_forum_opportunities',
  'list_prompt_groups',
  'get_group_metrics',
  'get_ai_traffic',
  'list_action_plans',
  'list_articles',
  'get_article',
  'get_credit_balance',
  'list_alerts',
];

const METRICS_TOOLS = dataTools.flatMap(({ name, scope }) => (scope === 'metrics' ? [name] : []));
// These servers have no SQL.
const ALL_TOOLS = [...METRICS_TOOLS, ...catalogue.resources.map(({ tool }) => tool)];

type Values = Record<string, string | number | boolean>;

/** Arguments of each kind by tool, without the brand; the last two are rejected. */
const CALLS: readonly (readonly [tool: string, values: Values])[] = [
  ['get_metrics', { from: '2026-03-13', to: '2026-03-14', branded: 'non-branded', engine: 'chatgpt' }],
  ['get_daily_metrics', { breakdown: 'engine' }],
  ['list_prompts', { includePaused: true }],
  ['get_group_metrics', { groupBy: 'tag' }],
  ['get_ai_traffic', { source: 'assistant-a' }],
  ['list_responses', { limit: 3, brandMentioned: false }],
  ['list_alerts', { type: 'visibility_drop', limit: 1 }],
  ['get_group_metrics', { groupBy: 'colour' }],
  ['list_responses', { competitorId: 'nobody' }],
];

describe('MCP tools return the same data as REST', () => {
  it.each(REVISIONS)('in revision %s', async (revision) => {
    const client = await connectTo(server(), revision);
    const { tools, tool } = await toolClient(client);
    expect(tools.map(({ name }) => name)).toEqual(ALL_TOOLS);
    // The newest revision has no ping.
    if (revision !== '2026-07-28') expect(await client.ping()).toEqual({});
    // The revisions differ in the protocol, which is the same for all tools.
    const compared = revision === '2026-07-28' ? catalogue.resources : ['list_brands', 'get_metrics'].map(resourceOf);
    for (const resource of compared) await compareAll(server(), client, tool(resource.tool));
  });

  it.each(CALLS)('by %s with %j', async (name, values) => {
    const { client } = connected();
    const { get, brandId } = server();
    const query = new URLSearchParams(
      Object.entries(values).map(([key, value]): [string, string] => [key, `${value}`]),
    );
    const rest = await get(`${resourceOf(name).path.replace('{brandId}', brandId)}?${query}`);
    const body: Body = await rest.json();
    const { isError, text, content } = await call(client, name, { brandId, ...values });
    expect(isError).toBe(rest.status !== 200);
    if (isError) expect(text).toContain(`${body.error.code}: ${body.error.message}\n`);
    expect(content).toEqual(isError ? undefined : toContent(body));
  });
});

it('the server has exactly the specified tools, all marked as read-only, with every argument described', () => {
  const { client, tools } = connected();
  const instructions = client.getInstructions() ?? '';
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(SPECIFIED));
  for (const { name: tool, annotations, title, description, inputSchema, outputSchema } of tools) {
    expect(annotations).toEqual({ readOnlyHint: true });
    expect(title).toMatch(/^[A-Z][\w ]+$/);
    expect(description?.length).toBeGreaterThan(40);
    expect(outputSchema).toMatchObject({ type: 'object' });
    compile(inputSchema);
    const isEndpoint = catalogue.resources.some((resource) => resource.tool === tool);
    for (const [name, property] of Object.entries(inputSchema.properties ?? {})) {
      expect(property, `${tool} ${name}`).toMatchObject({ type: expect.any(String) });
      const { description: about, ...schema } = property as { description?: string };
      if (about !== undefined) expect(about, `${tool} ${name}`).toMatch(/\.$/);
      // Bounds, choices or the description of the tool explain the others, or the instructions do so once for all tools.
      else if (name === 'cursor') expect(description).toContain('Pass `nextCursor` as `cursor`');
      else if (isEndpoint && name !== 'limit') expect(instructions, `${tool} ${name}`).toContain(`\`${name}\``);
      else if (!SELF_EXPLANATORY.includes(name))
        expect(`${JSON.stringify(schema)} ${instructions}`, `${tool} ${name}`).toMatch(
          new RegExp(`"(enum|maximum)":|\`${name}\``),
        );
    }
  }
});

it('tools describe their arguments from the declarations: types, bounds, defaults, sources of ids', async () => {
  const service = { ...server().service, namesOf: () => ({ breakdown: 'granularity' }) };
  const { client, tool } = await toolClient(await connect(await startBareMcp(service, {})));
  const instructions = client.getInstructions() ?? '';
  expect(instructions).toContain('They need a brandId of list_brands.');
  expect(instructions).toContain('Names of brands, competitors, topics, tags and engines are accepted instead of ids.');
  for (const { query, path, tool: name } of catalogue.resources) {
    const { inputSchema } = tool(name);
    const properties = inputSchema.properties as Record<string, Record<string, unknown>>;
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(inputSchema.required ?? []).toEqual(inPath);
    for (const parameter of inPath) {
      // Articles have no name.
      const expected = parameter === 'brandId' ? { description: 'Name or id.' } : { format: 'uuid' };
      expect(properties[String(parameter)]).toMatchObject(expected);
      expect('format' in (properties[String(parameter)] ?? {})).toBe(parameter !== 'brandId');
    }
    for (const [declared, parameter] of Object.entries(query)) {
      const property = properties[parameter.nameUnknown === true ? 'granularity' : declared];
      // The instructions describe arguments that several tools share; the names of limits and cursors are enough.
      if (property?.['description'] !== undefined) expect(property['description']).toBe(parameter.about);
      else if (!['limit', 'cursor'].includes(parameter.kind))
        expect(instructions).toContain(`\`${declared}\`: ${parameter.about}`);
      expect(property?.['default']).toEqual(parameter.default);
      expect(property?.['enum']).toEqual(parameter.values);
      if (parameter.kind === 'limit') expect(property).toMatchObject({ minimum: 1, maximum: parameter.max });
    }
  }
});

it('descriptions say which metric tool to use, and how the numbers are written by the calibration', async () => {
  const { tool } = connected();
  for (const name of ['get_metrics', 'get_daily_metrics', 'get_prompt_metrics', 'get_group_metrics']) {
    expect(tool(name).description).toContain('Use it ');
    expect(tool(name).description).toContain('sentiment: mean of positive 100, neutral 50 and negative 0;');
  }
  expect(tool('list_alerts').description).not.toContain('percent');
  const conventions: Conventions = { ...defaultConventions, labels: { positive: 1, negative: -1 } };
  const service = { ...server().service, conventions: () => conventions };
  const other = await toolClient(await connect(await startBareMcp(service, {})));
  expect(other.tool('get_group_metrics').description).toContain('sentiment: mean of positive 1 and negative -1;');
});

it('each tool result reports its freshness like the REST headers', async () => {
  const { copy, brandId } = server();
  const later = { ...stillClock, now: () => NOW_MS + 2 * 86_400_000 };
  for (const [clock, coverage] of [
    [stillClock, 'complete'],
    [later, 'partial'],
  ] as const) {
    const own = await openServer(copy, { clock });
    const range = { from: '2026-03-12', to: dayOf(clock.now()) };
    const { headers } = await own.get(`/brands/${brandId}/metrics?${new URLSearchParams(range)}`);
    expect(headers.get('x-data-coverage')).toBe(coverage);
    const { remarks, note } = await call(await connectTo(own), 'get_metrics', { brandId, ...range });
    expect(note).toMatchObject({ asOf: headers.get('x-data-as-of'), coverage });
    expect(remarks.includes('never read completely')).toBe(coverage === 'partial');
  }
});

function resourceOf(tool: string): Resource {
  return catalogue.resources.find((candidate) => candidate.tool === tool) as Resource;
}
