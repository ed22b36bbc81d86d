import type { Client, Tool } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Choices } from '../../../schemas/fixtures/choices.ts';
import { type Conventions, defaultConventions } from '../../../src/analytics/calibration/conventions.ts';
import type { Resource } from '../../../src/contract/catalogue.ts';
import { servedName } from '../../../src/contract/query-parameters.ts';
import { dayOf } from '../../../src/contract/time.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/endpoints/tool-input.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { openMirror } from '../../query/mirror.ts';
import { questions, readVocabulary } from '../../query/questions.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { countOf, sampleOf } from '../../support/counts.ts';
import { openServer, serverBefore, type TestServer } from '../http/support.ts';
import { stillClock } from '../served-world.ts';
import {
  type Body,
  call,
  callToEnd,
  clientBefore,
  compile,
  connect,
  connectTo,
  outputValidator,
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

const QUESTIONS = countOf(25, 400);

/** A result with fewer tokens than this is never shortened; 500 of the limit are reserved for the note. */
const NEVER_LONG = (RESULT_TOKENS.standard - 500) * 0.9;

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

  const upstreams: readonly [string, Partial<Choices>][] = [
    [
      'bare lists, slugs, a bare number, wrapped objects, unknown fields, another row mode',
      {
        listEnvelope: 'bare',
        engineItems: 'strings',
        credits: 'number',
        wrapObjects: true,
        extraFields: true,
        combinedEngine: 'absent',
        rowModeParameter: 'rows',
        timestamps: 'seconds',
        ungrouped: 'null',
        emptyShare: null,
      },
    ],
    ['lists in envelopes, nested credits, numbers that are not rounded', { credits: 'nested', decimals: 'none' }],
  ];
  it.each(sampleOf(upstreams, 1))('of an upstream with %s, for any request', async (_, choices) => {
    const mirror = await openMirror({ brands: 1, prompts: 2, days: 3, seed: 5, choices });
    await mirror.publish();
    const own = await openServer(mirror.copy, { clock: mirror.clock });
    const { client, tools, tool } = await toolClient(await connectTo(own));
    expect(tools.map(({ name }) => name)).toEqual(ALL_TOOLS);
    for (const resource of catalogue.resources) await compareAll(own, client, tool(resource.tool));
    const vocabulary = await readVocabulary(mirror);
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(questions(vocabulary), async (path) => {
        if (await compare(own, client, path)) answered += 1;
      }),
      { numRuns: QUESTIONS },
    );
    expect(answered).toBeGreaterThan(QUESTIONS / 4);
    const id = vocabulary.brands[0]?.id;
    // A page of long rows and an error, which random questions seldom ask for.
    expect(await compare(own, client, `/brands/${id}/responses?limit=57`)).toBe(true);
    expect(await compare(own, client, `/brands/${id}/responses?competitorId=nobody`)).toBe(false);
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

/** Compares a tool with its endpoint for all brands, and for the first few rows of a list whose details it returns. */
async function compareAll({ get }: TestServer, client: Client, tool: Tool): Promise<void> {
  const { path: template } = resourceOf(tool.name);
  const isValid = outputValidator(tool);
  const rowsOf = async (path: string): Promise<{ id: string }[]> => {
    const body: Body = await (await get(path)).json();
    return Array.isArray(body) ? body : body.data;
  };
  const brands = template.includes('{brandId}') ? (await rowsOf('/brands')).map(({ id }) => ({ brandId: id })) : [{}];
  const [, list, parameter] = /^\/brands\/\{brandId\}(\/\w+)\/\{(\w+)\}$/.exec(template) ?? [];
  for (const brand of brands as Record<string, string>[]) {
    const rows = list === undefined ? null : (await rowsOf(`/brands/${brand['brandId']}${list}`)).slice(0, 2);
    for (const values of rows?.map(({ id }) => ({ ...brand, [String(parameter)]: id })) ?? [brand]) {
      const path = template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
      const response = await get(path);
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
      const { isError, text, content, shown } = await callToEnd(client, tool, values);
      expect({ path, isError }).toEqual({ path, isError: false });
      expect(content).toEqual(toContent(await response.json()));
      expect(JSON.parse(text)).toEqual(shown);
      expect({ path, valid: isValid(shown), errors: isValid.errors ?? [] }).toEqual({ path, valid: true, errors: [] });
    }
  }
}

/** Compares a request by REST with the same call of a tool. Returns whether it has a result. */
async function compare({ get, service }: TestServer, client: Client, path: string): Promise<boolean> {
  const { pathname, searchParams } = new URL(path, 'http://rest.invalid');
  const { resource, values } = routeOf(pathname);
  for (const [name, text] of searchParams) values[name] = typed(resource, name, text, service.namesOf(resource));
  const rest = await get(path);
  const body: Body = await rest.json();
  const { isError, text, remarks, content, note, shown } = await call(client, resource.tool, values);
  if (!isError) expect(estimateTokens(JSON.stringify(shown))).toBeLessThanOrEqual(RESULT_TOKENS.standard);
  expect({ path, isError }).toEqual({ path, isError: rest.status !== 200 });
  if (isError) {
    expect(text).toContain(`${body.error.code}: ${body.error.message}\n`);
    expect(content).toBeUndefined();
  } else if (note.omitted !== undefined) {
    expect(estimateTokens(JSON.stringify(body))).toBeGreaterThan(NEVER_LONG);
    expect(Object.keys(content)).toEqual(Object.keys(toContent(body) as object));
  } else if (/^The page ends after \d+ rows/m.test(remarks)) {
    // A page of REST that is too long for a result of MCP arrives as several pages.
    expect(estimateTokens(JSON.stringify(body))).toBeGreaterThan(NEVER_LONG);
    expect(await readRows(client, resource, values, body.data.length)).toEqual(body.data);
  } else {
    expect(content).toEqual(toContent(body));
  }
  return !isError;
}

/** Follows the cursors of a tool until at least `count` rows are read, and returns the first `count`. */
async function readRows(client: Client, { tool, query }: Resource, values: object, count: number): Promise<unknown[]> {
  const [cursor] = Object.entries(query).find(([, { kind }]) => kind === 'cursor') as [string, unknown];
  const rows: unknown[] = [];
  let at = {};
  while (rows.length < count) {
    const { content } = await call(client, tool, { ...values, ...at });
    expect(content.data.length).toBeGreaterThan(0);
    rows.push(...content.data);
    at = { [cursor]: content.nextCursor };
  }
  return rows.slice(0, count);
}

/** Returns a value as a client that follows the input schema sends it. */
function typed(
  { query }: Resource,
  name: string,
  text: string,
  names: Readonly<Record<string, string>>,
): string | number | boolean {
  const found = Object.entries(query).find(([declared, parameter]) => servedName(declared, parameter, names) === name);
  const kind = found?.[1].kind;
  if (kind === 'limit' && /^-?\d+$/.test(text)) return Number(text);
  return kind === 'flag' && /^(true|false)$/.test(text) ? text === 'true' : text;
}

function routeOf(pathname: string): { resource: Resource; values: Record<string, string | number | boolean> } {
  for (const resource of catalogue.resources) {
    const pattern = resource.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    const match = new RegExp(`^${pattern}$`).exec(pathname);
    if (match !== null) return { resource, values: { ...match.groups } };
  }
  throw new Error(`no route ${pathname}`);
}
