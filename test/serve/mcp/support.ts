import { text as textOf } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import type { AnySchemaObject, ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, onTestFinished } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { isRecord } from '../../../src/base/json.ts';
import type { Resource } from '../../../src/contract/catalogue.ts';
import type { Service } from '../../../src/read/service.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { createMcpHandler } from '../../../src/serve/mcp/mcp-http.ts';
import { type ServedWorkspace, servedOne } from '../../../src/serve/mcp/served.ts';
import type { McpOptions } from '../../../src/serve/mcp/tool-calls.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/tool-result.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { serve } from '../../cli/helpers.ts';
import type { TestServer } from '../http/support.ts';
import { type CloseLater, sharedBefore, stillClock } from '../served-world.ts';

/** The newest revision and those that current clients use. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type Revision = (typeof REVISIONS)[number];

// oxlint-disable-next-line typescript/no-explicit-any -- bodies are judged by assertions, not by types
export type Body = any;

/** A tool result, as tests use it. */
export type Called = Awaited<ReturnType<typeof call>>;

/** Serves only MCP, without keys; returns its address. */
export async function startBareMcp(
  service: Service,
  options: McpOptions,
  more: Partial<ServedWorkspace> = {},
  clock: Clock = stillClock,
  closeLater: CloseLater = onTestFinished,
): Promise<string> {
  const served = servedOne({ service, sql: null, pageUrl: null, ...more }, clock);
  const handler = createMcpHandler(served, options);
  const { origin, close } = await serve(async (request, response) => {
    const text = await textOf(request);
    await handler(request, response, text === '' ? undefined : JSON.parse(text), { session: 'tests' });
  });
  closeLater(close);
  return `${origin}/`;
}

/** Sends one message, given as a value or as text. */
export function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const accepted = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = { method: 'POST', headers: { ...accepted, ...headers }, body: text };
  return fetch(url, signal === undefined ? init : { ...init, signal });
}

/** Connects a client with one protocol revision; closed after the test. */
export async function connect(
  url: string,
  revision: Revision = '2026-07-28',
  headers: Record<string, string> = {},
  closeLater: CloseLater = onTestFinished,
): Promise<Client> {
  const client = createClient(revision);
  closeLater(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  return client;
}

/** Connects a client with the key of a server. */
export function connectTo(
  { mcpUrl, key }: Pick<TestServer, 'mcpUrl' | 'key'>,
  revision?: Revision,
  closeLater?: CloseLater,
): Promise<Client> {
  return connect(mcpUrl, revision, { Authorization: `Bearer ${key}` }, closeLater);
}

/** A client and the tools that it sees. */
export type ToolClient = Awaited<ReturnType<typeof toolClient>>;

/** Connects a client before the tests of a file; returns a function that returns it. */
export function clientBefore(server: () => TestServer): () => ToolClient {
  return sharedBefore(async (closeLater) => toolClient(await connectTo(server(), '2026-07-28', closeLater)));
}

/** Lists the tools of a client, which `tool` returns by name. */
export async function toolClient(client: Client) {
  const { tools } = await client.listTools();
  return { client, tools, tool: (name: string) => tools.find((one) => one.name === name) as Tool };
}

/** Creates a client with one protocol revision. */
export function createClient(revision: Revision): Client {
  const info = { name: 'sightline-tests', version: '1.0.0' };
  return revision === '2026-07-28'
    ? new Client(info, { versionNegotiation: { mode: { pin: revision } } })
    : new Client(info, { supportedProtocolVersions: [revision] });
}

/** Calls a tool; rejects if the call fails with a protocol error. The content of an error is undefined. */
export async function call(client: Client, name: string, values: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: values });
  /** The structured content as sent. */
  const shown = result.structuredContent as Body;
  expect(result.content).toHaveLength(1);
  const { _sightline: note, ...content } = shown ?? {};
  return {
    isError: result.isError === true,
    /** The first text: JSON unless it is an error. */
    text: result.content[0]?.type === 'text' ? result.content[0].text : '',
    ...{ shown, note: note as Body },
    /** The structured content with tables as lists of objects, and without the note. */
    content: (shown === undefined ? undefined : withoutTables(content)) as Body,
    /** The remarks of the note, one per line. */
    remarks: ((note?.remarks ?? []) as string[]).join('\n'),
  };
}

/**
 * Calls a tool, and continues a list that is too long with `skip` as the note states; the result has the rows of all calls. Each result
 * must fit into its limit and match its schema.
 */
export async function callToEnd(
  client: Client,
  tool: Tool,
  values: Record<string, unknown>,
  maxTokens: number = RESULT_TOKENS.most,
): Promise<Called & { readonly calls: number }> {
  const isValid = outputValidator(tool);
  const takes = tool.inputSchema.properties?.['maxTokens'] !== undefined;
  const next = async (more: Record<string, unknown>): Promise<Called> => {
    const called = await call(client, tool.name, { ...values, ...(takes ? { maxTokens } : {}), ...more });
    expect({ tool: tool.name, error: called.isError ? called.text : '' }).toEqual({ tool: tool.name, error: '' });
    expect(estimateTokens(called.text)).toBeLessThanOrEqual(maxTokens);
    expect(JSON.parse(called.text)).toEqual(called.shown);
    expect(isValid(called.shown), JSON.stringify(isValid.errors)).toBe(true);
    return called;
  };
  const skipOf = ({ note }: Called): string | undefined => /call again with skip=(\d+)/.exec(note?.omitted ?? '')?.[1];
  const first = await next({});
  let calls = 1;
  for (let skip = skipOf(first); skip !== undefined; calls += 1) {
    expect(calls).toBeLessThan(200);
    expect(Number(skip)).toBe(listsIn(first.content).flat().length);
    const last = await next({ skip: Number(skip) });
    for (const [name, value] of Object.entries(last.content))
      if (Array.isArray(value)) first.content[name].push(...value);
    skip = skipOf(last);
  }
  return { ...first, calls };
}

function listsIn(content: unknown): unknown[][] {
  return Array.isArray(content) ? [content] : Object.values(content as object).filter((value) => Array.isArray(value));
}

/** Compares a tool with its endpoint for all brands, and for the first two rows of a list whose details it returns. */
export async function compareAll({ get }: Pick<TestServer, 'get'>, client: Client, tool: Tool): Promise<void> {
  const rowsOf = async (path: string): Promise<{ id: string }[]> =>
    (toContent(await (await get(path)).json()) as { data: { id: string }[] }).data;
  const { path: template } = catalogue.resources.find((candidate) => candidate.tool === tool.name) as Resource;
  const [, list, parameter] = /^\/brands\/\{brandId\}(\/\w+)\/\{(\w+)\}$/.exec(template) ?? [];
  const brands = template.includes('{') ? (await rowsOf('/brands')).map(({ id }) => ({ brandId: id })) : [{}];
  for (const brand of brands as Record<string, string>[]) {
    const rows = list === undefined ? null : (await rowsOf(`/brands/${brand['brandId']}${list}`)).slice(0, 2);
    for (const values of rows?.map(({ id }) => ({ ...brand, [String(parameter)]: id })) ?? [brand]) {
      const path = template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
      const response = await get(path);
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
      const { content } = await callToEnd(client, tool, values);
      expect(content, path).toEqual(toContent(await response.json()));
    }
  }
}

/** Returns content with each table as a list of objects, as a client reads it. */
export function withoutTables(content: Readonly<Record<string, unknown>>): Body {
  return Object.fromEntries(
    Object.entries(content).map(([name, value]) => [name, isTable(value) ? toRows(value) : value]),
  );
}

interface Table {
  readonly columns: readonly (string | Record<string, readonly string[]>)[];
  readonly rows: readonly (readonly unknown[])[];
}

function isTable(value: unknown): value is Table {
  return isRecord(value) && Object.keys(value).join() === 'columns,rows';
}

function toRows({ columns, rows }: Table): unknown[] {
  const inner = (names: readonly string[], items: unknown): unknown =>
    (items as unknown[][] | null)?.map((item) => Object.fromEntries(names.map((name, at) => [name, item[at]]))) ?? null;
  return rows.map((row) => {
    expect(row).toHaveLength(columns.length);
    return Object.fromEntries(
      columns.map((column, index) => {
        if (typeof column === 'string') return [column, row[index]];
        const [[name, names] = ['', []]] = Object.entries(column);
        return [name, inner(names, row[index])];
      }),
    );
  });
}

/** Converts a REST body to MCP content: values that are not objects are wrapped in `data`. */
export function toContent(body: unknown): unknown {
  return isRecord(body) ? body : { data: body };
}

/** Returns a validator of a tool's output schema. */
export function outputValidator(tool: Tool): ValidateFunction {
  return compile(tool.outputSchema as AnySchemaObject);
}

/** Strict mode also reports mistakes in schemas. */
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
formats.default(ajv);

/** Compiles a schema. */
export function compile(schema: AnySchemaObject): ValidateFunction {
  return ajv.compile(schema);
}
