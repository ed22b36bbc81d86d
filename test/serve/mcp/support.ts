import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import type { AnySchemaObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { isRecord } from '../../../src/base/json.ts';
import type { Service } from '../../../src/query/service.ts';
import { createKey, openKeyring } from '../../../src/serve/auth/keys.ts';
import { type RunningServer, startServer } from '../../../src/serve/http/http-server.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/endpoints/tool-input.ts';
import { createMcpHandler } from '../../../src/serve/mcp/mcp-http.ts';
import { type ServedWorkspace, servedOne } from '../../../src/serve/mcp/served.ts';
import type { McpOptions } from '../../../src/serve/mcp/tool-calls.ts';
import { temporaryFolder } from '../../support/folders.ts';

/** The newest revision and those that current clients use. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const;
export type Revision = (typeof REVISIONS)[number];

/** A workspace that is created quickly, for tests that do not depend on its numbers. */
export const SMALL = { prompts: 3, days: 3 } as const;

// biome-ignore lint/suspicious/noExplicitAny: bodies are judged by assertions, not by types
export type Body = any;

/** A tool result, as tests use it. */
export interface Called {
  readonly isError: boolean;
  /** The first text: JSON unless it is an error. */
  readonly text: string;
  /** The structured content as sent. */
  readonly shown: Body;
  /** The structured content with tables as lists of objects, and without the note; undefined for an error. */
  readonly content: Body;
  /** The note about the result; undefined for an error. */
  readonly note: Body;
  /** The remarks of the note, one per line. */
  readonly remarks: string;
}

/** A read server with REST and MCP, and clients for both. */
export interface Endpoint {
  readonly server: RunningServer;
  readonly key: string;
  rest(path: string): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Body }>;
  post(body: unknown, headers?: Record<string, string>): Promise<Response>;
  connect(revision?: Revision): Promise<Client>;
}

/** Serves REST and MCP of a service on a free port, with a key; closed after the test. */
export async function startEndpoint(service: Service, rateLimit: number | 'off' = 'off'): Promise<Endpoint> {
  const folder = await temporaryFolder();
  const { text: key } = await createKey(folder, 'tests', null, Date.now());
  const server = await startServer(
    { service, keyring: openKeyring(folder), clock: systemClock, log: () => undefined },
    {
      host: '127.0.0.1',
      port: 0,
      metricsPort: null,
      rateLimit,
      corsOrigins: [],
      allowedHosts: [],
      logLevel: 'silent',
    },
  );
  onTestFinished(() => server.close());
  const headers = { Authorization: `Bearer ${key}` };
  const url = server.mcpUrl;
  return {
    server,
    key,
    rest: async (path) => {
      const response = await fetch(`${server.baseUrl}${path}`, { headers });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    post: (body, more = {}) => post(url, body, { ...headers, ...more }),
    connect: (revision = '2026-07-28') => connect(url, revision, headers),
  };
}

/** Serves only MCP, without keys; returns its address. */
export async function startBareMcp(
  service: Service,
  options: McpOptions,
  more: Partial<ServedWorkspace> = {},
  clock: Clock = systemClock,
): Promise<string> {
  const served = servedOne({ service, sql: null, pageUrl: null, ...more }, clock);
  const handler = createMcpHandler(served, options);
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    await handler(request, response, text === '' ? undefined : JSON.parse(text), { session: 'tests' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Sends one message, given as a value or as text. */
export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const accepted = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(url, { method: 'POST', headers: { ...accepted, ...headers }, body: text });
}

/** Connects a client with one protocol revision; closed after the test. */
export async function connect(
  url: string,
  revision: Revision = '2026-07-28',
  headers: Record<string, string> = {},
): Promise<Client> {
  const client = createClient(revision);
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  return client;
}

/** Creates a client with one protocol revision. */
export function createClient(revision: Revision): Client {
  const info = { name: 'sightline-tests', version: '1.0.0' };
  return revision === '2026-07-28'
    ? new Client(info, { versionNegotiation: { mode: { pin: revision } } })
    : new Client(info, { supportedProtocolVersions: [revision] });
}

/** Calls a tool; rejects if the call fails with a protocol error. */
export async function call(client: Client, name: string, values: Record<string, unknown> = {}): Promise<Called> {
  const result = await client.callTool({ name, arguments: values });
  const shown = result.structuredContent as Body;
  expect(result.content).toHaveLength(1);
  const { _sightline: note, ...content } = shown ?? {};
  return {
    isError: result.isError === true,
    text: result.content[0]?.type === 'text' ? result.content[0].text : '',
    shown,
    content: shown === undefined ? undefined : withoutTables(content),
    note,
    remarks: (note?.remarks ?? []).join('\n'),
  };
}

/** Calls a tool, and continues a list that is too long with `skip` as the note states; the result has the rows of all calls. */
export async function callToEnd(client: Client, tool: Tool, values: Record<string, unknown> = {}): Promise<Called> {
  const takes = tool.inputSchema.properties?.['maxTokens'] !== undefined;
  const first = await call(client, tool.name, takes ? { ...values, maxTokens: RESULT_TOKENS.most } : values);
  let last = first;
  for (let calls = 0; last.note?.omitted !== undefined; calls += 1) {
    expect(calls).toBeLessThan(100);
    const skip = Number(/call again with skip=(\d+)/.exec(last.note.omitted)?.[1]);
    last = await call(client, tool.name, { ...values, maxTokens: RESULT_TOKENS.most, skip });
    for (const [name, value] of Object.entries(last.content))
      if (Array.isArray(value)) first.content[name].push(...value);
  }
  return first;
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

/** Compiles a schema in strict mode, which also reports mistakes in the schema. */
export function compile(schema: AnySchemaObject): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  formats.default(ajv);
  return ajv.compile(schema);
}
