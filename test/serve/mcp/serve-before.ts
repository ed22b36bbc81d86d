import type { Client, Tool } from '@modelcontextprotocol/client';
import type { ValidateFunction } from 'ajv';
import { expect } from 'vitest';
import { createKey, type KeyRights } from '../../../src/serve/auth/keys.ts';
import { NOTE } from '../../../src/serve/mcp/tool-result.ts';
import { SCOPES } from '../../../src/workspace/stored-keys.ts';
import type { World } from '../../support/worlds.ts';
import { openCopy, serveWorld, sharedBefore } from '../served-world.ts';
import { type Called, call, compile, connect, outputValidator, type ToolClient, toolClient } from './support.ts';

/** Serves a copy of a world over HTTP, with guarded SQL and a client with all rights, before the tests of a file. */
export function serveBefore(world: World) {
  return sharedBefore(async (closeLater) => {
    const workspace = await openCopy(world, closeLater);
    const { folder } = workspace.config;
    const server = await serveWorld(workspace.config);
    closeLater(server.close);
    const clients = new Map<string, Promise<Client>>();
    const connectWith = async (rights: KeyRights): Promise<Client> => {
      const { text } = await createKey(folder, `mcp ${clients.size}`, null, Date.now(), rights);
      return connect(server.mcpUrl, '2026-07-28', { authorization: `Bearer ${text}` }, closeLater);
    };
    // Returns a client whose key has these rights; one for equal rights, because a workspace has at most 10 keys.
    const connectAs = (rights: KeyRights): Promise<Client> => {
      const key = JSON.stringify(rights);
      const client = clients.get(key) ?? connectWith(rights);
      clients.set(key, client);
      return client;
    };
    return { ...workspace, server, connectAs, ...(await toolClient(await connectAs({ scopes: [...SCOPES] }))) };
  });
}

/** The validators of the arguments and of the result, by tool; compiling them takes longer than a call. */
const validators = new WeakMap<Tool, [ValidateFunction, ValidateFunction]>();

/** Calls a tool, and checks that its arguments and its result match its schemas. */
export async function askChecked(
  { client, tool: toolOf }: ToolClient,
  name: string,
  values: Record<string, unknown>,
): Promise<Called> {
  const tool = toolOf(name);
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
