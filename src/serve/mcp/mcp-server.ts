import { Server, type ServerContext } from '@modelcontextprotocol/server';
import { SightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import type { Report } from '../../read/metrics/table-result.ts';
import { SCOPES } from '../../workspace/stored-keys.ts';
import { instructionsOf } from './instructions.ts';
import { getPrompt, listPrompts } from './mcp-prompts.ts';
import { readResource, resourceEntries, resourceTemplates } from './mcp-resources.ts';
import type { Served } from './served.ts';
import { callByName, errorResult, listTools, type McpOptions } from './tool-calls.ts';
import { createToolSets } from './tool-set.ts';

/** The caller of a connection without authentication. */
const LOCAL_SESSION = 'local';

/** Creates a factory of MCP servers, one per request or connection. All of them share the derived tools. */
export function createServerFactory(served: Served, options: McpOptions = {}): () => Server {
  const derive = createToolSets(served);
  const instructions = instructionsOf(served, options.scopes ?? SCOPES);
  const calling = { served, derive, options };
  return () => {
    const info = { name: 'sightline', title: 'sightline', version: VERSION };
    const server = new Server(info, {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions,
    });
    server.onerror = (error) => options.onError?.(error);
    server.setRequestHandler('tools/list', async () => ({ tools: await listTools(calling) }));
    server.setRequestHandler('tools/call', ({ params }, { mcpReq, http }) => {
      const { clientId: session = LOCAL_SESSION, extra } = http?.authInfo ?? {};
      const refusal = extra?.['refusal'];
      // The message states when to try again.
      if (refusal instanceof SightlineError) return errorResult(refusal, 'The call was not carried out.');
      return callByName(calling, { ...params, session, signal: mcpReq.signal, report: reportOf(mcpReq) });
    });
    server.setRequestHandler('resources/list', async () => {
      return { resources: resourceEntries(served, (await derive()).dictionary) };
    });
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: resourceTemplates(served) }));
    server.setRequestHandler('resources/read', async ({ params }, { mcpReq, http }) => {
      const caller = { session: http?.authInfo?.clientId ?? LOCAL_SESSION, signal: mcpReq.signal };
      return readResource(calling, (await derive()).dictionary, params.uri, caller);
    });
    server.setRequestHandler('prompts/list', () => ({ prompts: listPrompts(calling) }));
    server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
      getPrompt(calling, params.name, params.arguments ?? {}, mcpReq.signal),
    );
    return server;
  };
}

// Returns undefined if the request has no token.
function reportOf({ _meta, notify, signal }: ServerContext['mcpReq']): Report | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (message, progress, total) => {
    if (signal.aborted) return;
    const params = { progressToken, progress, message, ...(total === null ? {} : { total }) };
    // The caller may have disconnected; its signal ends the call.
    notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
