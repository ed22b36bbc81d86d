import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll } from 'vitest';
import type { WorkspaceOptions } from '../../../schemas/fixtures/start.ts';
import { createKey, type KeyRights } from '../../../src/serve/auth/keys.ts';
import type { ServedWorkspace } from '../../../src/serve/serve-workspace.ts';
import { SCOPES } from '../../../src/session/stored-keys.ts';
import { layoutOf } from '../../../src/snapshot/layout.ts';
import { type StatusWorkspace, serveQuietly, workspaceBefore } from '../../web/support.ts';
import { createClient } from './support.ts';

/** A synced workspace that is served over HTTP, with guarded SQL, for all tests of a file. */
export interface ServedWorld extends StatusWorkspace {
  readonly server: ServedWorkspace;
  /** Path of the replica. */
  readonly replica: string;
  /** A client whose key has all rights. */
  readonly client: Client;
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
    world = { ...workspace(), server, replica, connectAs, client: await connectAs({ scopes: [...SCOPES] }) };
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
