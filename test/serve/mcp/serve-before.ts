import { type Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import type { ValidateFunction } from 'ajv';
import { afterAll, beforeAll, expect } from 'vitest';
import type { WorkspaceOptions } from '../../../schemas/fixtures/start.ts';
import { createKey, type KeyRights } from '../../../src/serve/auth/keys.ts';
import { NOTE } from '../../../src/serve/mcp/result-note.ts';
import type { ServedWorkspace } from '../../../src/serve/serve-workspace.ts';
import { SCOPES } from '../../../src/session/stored-keys.ts';
import { layoutOf } from '../../../src/snapshot/layout.ts';
import { type StatusWorkspace, serveQuietly, workspaceBefore } from '../../web/support.ts';
import { type Called, call, compile, createClient, outputValidator } from './support.ts';

/** A synced workspace that is served over HTTP, with guarded SQL, for all tests of a file. */
export interface ServedWorld extends StatusWorkspace {
  readonly server: ServedWorkspace;
  /** Path of the replica. */
  readonly replica: string;
  /** A client whose key has all rights, and the tools that it sees. */
  readonly client: Client;
  readonly tools: readonly Tool[];
  /** Returns a client whose key has these rights; one for equal rights, closed after the tests of the file. */
  connectAs(rights: KeyRights): Promise<Client>;
}

/** Serves a small synced workspace before the tests of a file; returns a function that returns it. */
export function serveBefore(days: number, options: WorkspaceOptions): () => ServedWorld {
  const workspace = workspaceBefore(days, options);
  const clients = new Map<string, Promise<Client>>();
  let world: ServedWorld | null = null;
  beforeAll(async () => {
    const { config } = workspace();
    const server = await serveQuietly(config, { rateLimit: 'off' });
    const connectWith = async (rights: KeyRights): Promise<Client> => {
      const { text } = await createKey(config.folder, `mcp ${clients.size}`, null, Date.now(), rights);
      const headers = { authorization: `Bearer ${text}` };
      const client = createClient('2025-06-18');
      await client.connect(new StreamableHTTPClientTransport(new URL(server.mcpUrl), { requestInit: { headers } }));
      return client;
    };
    // A workspace has at most 10 keys.
    const connectAs = (rights: KeyRights): Promise<Client> => {
      const key = JSON.stringify(rights);
      const client = clients.get(key) ?? connectWith(rights);
      clients.set(key, client);
      return client;
    };
    const replica = layoutOf(config.folder).analytics;
    const client = await connectAs({ scopes: [...SCOPES] });
    const { tools } = await client.listTools();
    world = { ...workspace(), server, replica, connectAs, client, tools };
  });
  afterAll(async () => {
    await Promise.all([...clients.values()].map(async (client) => (await client).close()));
    await world?.server.close();
  });
  return () => {
    if (world === null) throw new Error('the workspace is not served');
    return world;
  };
}

/** The validators of the arguments and of the result, by tool; compiling them takes longer than a call. */
const validators = new WeakMap<Tool, [ValidateFunction, ValidateFunction]>();

/** Calls a tool, and checks that its arguments and its result match its schemas. */
export async function askChecked(
  { client, tools }: ServedWorld,
  name: string,
  values: Record<string, unknown>,
): Promise<Called> {
  const tool = tools.find((one) => one.name === name) as Tool;
  const [acceptsArguments, isValid] = validators.get(tool) ?? [compile(tool.inputSchema), outputValidator(tool)];
  validators.set(tool, [acceptsArguments, isValid]);
  expect(acceptsArguments(values), `${name} ${JSON.stringify(acceptsArguments.errors)}`).toBe(true);
  const result = await call(client, name, values);
  expect({ name, error: result.isError ? result.text : '' }).toEqual({ name, error: '' });
  expect(JSON.parse(result.text)).toEqual(result.shown);
  expect(isValid(result.shown), `${name} ${JSON.stringify(isValid.errors)}`).toBe(true);
  const declared = Object.keys((tool.outputSchema as { properties: object }).properties);
  // `url` is absent without a server of pages.
  const optional = ['sql', 'url', NOTE];
  expect(Object.keys(result.shown), name).toEqual(
    expect.arrayContaining(declared.filter((one) => !optional.includes(one))),
  );
  expect(result.note, name).toBeDefined();
  return result;
}
