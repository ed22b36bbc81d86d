import type { Client, Tool } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import type { Choices } from '../../../schemas/fixtures/choices.ts';
import { type Conventions, defaultConventions } from '../../../src/analytics/calibration/conventions.ts';
import type { Catalogue } from '../../../src/contract/catalogue.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { type Mirror, openMirror } from '../../query/mirror.ts';
import {
  call,
  callToEnd,
  compile,
  connect,
  type Endpoint,
  outputValidator,
  REVISIONS,
  startBareMcp,
  startEndpoint,
  toContent,
} from './support.ts';

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

const variants: readonly { readonly name: string; readonly choices: Partial<Choices> }[] = [
  { name: 'objects under data', choices: {} },
  {
    name: 'bare lists, slugs, a bare number, unknown fields, another row mode',
    choices: {
      listEnvelope: 'bare',
      engineItems: 'strings',
      credits: 'number',
      extraFields: true,
      combinedEngine: 'absent',
      rowModeParameter: 'rows',
      timestamps: 'seconds',
      ungrouped: 'null',
      emptyShare: null,
    },
  },
  { name: 'objects wrapped, nested credits', choices: { wrapObjects: true, credits: 'nested', decimals: 'none' } },
];

describe.each(variants)('MCP tools with $name', ({ choices }) => {
  it('return the same data as REST in every revision', async () => {
    const { mirror, endpoint } = await open(choices);
    for (const revision of REVISIONS) {
      const client = await endpoint.connect(revision);
      const { tools } = await client.listTools();
      const names = mirror.catalogue.resources.map(({ tool }) => tool);
      // This server has no SQL.
      expect(tools.map(({ name }) => name)).toEqual([...METRICS_TOOLS, ...names]);
      for (const tool of tools.filter(({ name }) => names.includes(name)))
        await compareWithRest(client, tool, mirror.catalogue, endpoint);
    }
  });
});

it('the server has exactly the specified tools, all marked as read-only, with every argument described', async () => {
  const { mirror, endpoint } = await open();
  const client = await endpoint.connect();
  const { tools } = await client.listTools();
  const instructions = client.getInstructions() ?? '';
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(SPECIFIED));
  for (const { name: tool, annotations, title, description, inputSchema, outputSchema } of tools) {
    expect(annotations).toEqual({ readOnlyHint: true });
    expect(title).toMatch(/^[A-Z][\w ]+$/);
    expect(description?.length).toBeGreaterThan(40);
    expect(outputSchema).toMatchObject({ type: 'object' });
    compile(inputSchema);
    const isEndpoint = mirror.catalogue.resources.some((resource) => resource.tool === tool);
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
  const { mirror, endpoint } = await open({ rowModeParameter: 'granularity' });
  const client = await endpoint.connect();
  const { tools } = await client.listTools();
  const instructions = client.getInstructions() ?? '';
  expect(instructions).toContain('They need a brandId of list_brands.');
  expect(instructions).toContain('Names of brands, competitors, topics, tags and engines are accepted instead of ids.');
  for (const { query, path, tool: name } of mirror.catalogue.resources) {
    const { inputSchema } = tools.find((tool) => tool.name === name) as Tool;
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

it('descriptions say which metric tool to use, and how the served numbers are written', async () => {
  const { mirror, endpoint } = await open();
  const client = await endpoint.connect();
  const described = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await client.listTools()).tools.map(({ name, description = '' }) => [name, description]));
  const percent = await described();
  for (const name of ['get_metrics', 'get_daily_metrics', 'get_prompt_metrics', 'get_group_metrics']) {
    expect(percent[name]).toContain('Use it ');
    expect(percent[name]).toContain('avgPosition: 1 is first, lower is better.');
    expect(percent[name]).toContain('sentiment: mean of positive 100, neutral 50 and negative 0; higher is better.');
  }
  expect(percent['get_metrics']).toContain('visibility and shareOfVoice: percent, 0 to 100.');
  expect(percent['get_group_metrics']).toContain('visibilityChange: in percentage points.');
  expect(percent['list_cited_domains']).toContain('share: percent, 0 to 100. Base: all citations.');
  expect(percent['list_responses']).toContain('brandPosition and position: 1 is first, lower is better.');
  expect(percent['list_alerts']).not.toContain('percent');
  const conventions: Conventions = {
    ...defaultConventions,
    visibility: { whole: 1, decimals: 3, mode: 'half-away' },
    visibilityChange: { ...defaultConventions.visibilityChange, whole: 1 },
    labels: { positive: 1, negative: -1 },
  };
  const other = await connect(await startBareMcp({ ...mirror.service, conventions: () => conventions }, {}));
  const fraction = (await other.listTools()).tools.find(({ name }) => name === 'get_group_metrics')?.description;
  expect(fraction).toContain('shareOfVoice: percent, 0 to 100. visibility: fraction, 0 to 1.');
  expect(fraction).toContain('visibilityChange: difference of two fractions.');
  expect(fraction).toContain('sentiment: mean of positive 1 and negative -1;');
});

it('each tool result reports its freshness like the REST headers', async () => {
  const { endpoint } = await open();
  const client = await endpoint.connect();
  const { body } = await endpoint.rest('/brands');
  const brandId = body.data[0].id;
  for (const range of [{}, { from: '2025-04-01', to: '2026-02-01' }]) {
    const { headers } = await endpoint.rest(`/brands/${brandId}/metrics?${new URLSearchParams(range)}`);
    const { remarks, note } = await call(client, 'get_metrics', { brandId, ...range });
    const coverage = headers.get('x-data-coverage');
    expect(note).toMatchObject({ asOf: headers.get('x-data-as-of'), coverage });
    expect(remarks.includes('never read completely')).toBe(coverage === 'partial');
  }
});

async function open(choices: Partial<Choices> = {}): Promise<{ mirror: Mirror; endpoint: Endpoint }> {
  const mirror = await openMirror({ choices });
  await mirror.publish();
  return { mirror, endpoint: await startEndpoint(mirror.service) };
}

async function compareWithRest(client: Client, tool: Tool, catalogue: Catalogue, endpoint: Endpoint): Promise<void> {
  const resource = catalogue.resources.find((candidate) => candidate.tool === tool.name);
  const isValid = outputValidator(tool);
  for (const values of await pathValues(endpoint, resource?.path ?? '')) {
    const path = (resource?.path ?? '').replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
    const { status, body } = await endpoint.rest(path);
    expect({ path, status }).toEqual({ path, status: 200 });
    const { isError, text, content, shown } = await callToEnd(client, tool, values);
    expect({ path, isError }).toEqual({ path, isError: false });
    expect(content).toEqual(toContent(body));
    expect(JSON.parse(text)).toEqual(shown);
    expect({ path, valid: isValid(shown), errors: isValid.errors ?? [] }).toEqual({ path, valid: true, errors: [] });
  }
}

// All brands; of the data of a brand, the first few.
async function pathValues(endpoint: Endpoint, path: string): Promise<Record<string, string>[]> {
  const listOf = async (from: string): Promise<{ id: string }[]> => {
    const { body } = await endpoint.rest(from);
    return Array.isArray(body) ? body : body.data;
  };
  if (!path.includes('{')) return [{}];
  const brands = (await listOf('/brands')).map(({ id }) => ({ brandId: id }));
  const inner = /^(\/brands\/)\{brandId\}(\/\w+)\/\{(\w+)\}$/.exec(path);
  if (inner === null) return brands;
  const values = await Promise.all(
    brands.map(async ({ brandId }) => {
      const rows = await listOf(`${inner[1]}${brandId}${inner[2]}`);
      return rows.slice(0, 3).map(({ id }) => ({ brandId, [String(inner[3])]: id }));
    }),
  );
  return values.flat();
}
