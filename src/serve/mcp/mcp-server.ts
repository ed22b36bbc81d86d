import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource as ResourceEntry,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server';
import { errorTable, type SightlineError, toSightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import { type Catalogue, providerOf } from '../../contract/catalogue.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { Freshness, Service } from '../../query/service.ts';
import { callTool, RESULT_CHARACTERS_MAX } from './call-tool.ts';
import { describeData } from './data-dictionary.ts';
import { listerOf, type Tool, type ToolSet } from './tool.ts';
import { createTools } from './tools.ts';

/** Resources that clients can read. */
export const DICTIONARY_URI = 'sightline://dictionary';
export const FRESHNESS_URI = 'sightline://freshness';

/** Options of an MCP server. */
export interface McpOptions {
  /** Called with errors whose message is not sent to clients. */
  readonly onError?: (error: Error) => void;
  /** Maximum JSON characters of a result; default `RESULT_CHARACTERS_MAX`. */
  readonly charactersMax?: number;
}

/** Creates a factory of MCP servers, one per request or connection. All of them share the derived tools. */
export function createServerFactory(service: Service, options: McpOptions = {}): () => Server {
  const derived = deriveOnce(service);
  const instructions = instructionsOf(service);
  return () => {
    const info = { name: 'sightline', title: 'sightline', version: VERSION };
    const server = new Server(info, { capabilities: { tools: {}, resources: {} }, instructions });
    server.onerror = (error) => options.onError?.(error);
    server.setRequestHandler('tools/list', async () => {
      await opened(service);
      return { tools: [...derived().tools.values()].map((tool) => tool.definition) };
    });
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
      call(service, derived().tools, params, mcpReq.signal, options),
    );
    server.setRequestHandler('resources/list', () => ({ resources: entries }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
    server.setRequestHandler('resources/read', async ({ params }) => {
      await opened(service);
      return read(service, derived().dictionary, params.uri);
    });
    return server;
  };
}

// Parameter names learned from the data are known only after the replica was opened.
async function opened(service: Service): Promise<void> {
  await service.freshness();
}

async function call(
  service: Service,
  tools: ToolSet,
  params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  signal: AbortSignal,
  { onError, charactersMax = RESULT_CHARACTERS_MAX }: McpOptions,
): Promise<CallToolResult> {
  const tool = tools.get(params.name);
  if (tool === undefined) {
    const message = `Unknown tool: ${params.name}; known: ${[...tools.keys()].join(', ')}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  try {
    return await callTool(service, tool, params.arguments ?? {}, { signal, charactersMax });
  } catch (thrown) {
    // The client no longer waits for this response.
    if (signal.aborted) throw thrown;
    const error = toSightlineError(thrown);
    if (error.code === 'internal') onError?.(error);
    return toErrorResult(error, service.catalogue, tool);
  }
}

const entries: ResourceEntry[] = [
  {
    uri: DICTIONARY_URI,
    name: 'dictionary',
    title: 'Data dictionary',
    description: 'Every tool, argument, field, table and column, with its meaning.',
    mimeType: 'text/markdown',
  },
  {
    uri: FRESHNESS_URI,
    name: 'freshness',
    title: 'Freshness of the data',
    description: 'Time of the last sync, and freshness and completeness of each resource.',
    mimeType: 'application/json',
  },
];

async function read(service: Service, dictionary: () => string, uri: string): Promise<ReadResourceResult> {
  switch (uri) {
    case DICTIONARY_URI:
      return { contents: [{ uri, mimeType: 'text/markdown', text: dictionary() }] };
    case FRESHNESS_URI: {
      const text = JSON.stringify(toReadable(service, await service.freshness()), null, 2);
      return { contents: [{ uri, mimeType: 'application/json', text }] };
    }
    default:
      throw new ResourceNotFoundError(uri, `Unknown resource: ${uri}; known: ${DICTIONARY_URI}, ${FRESHNESS_URI}`);
  }
}

// Uses ISO dates and tool names, which models understand better than milliseconds and resource names.
function toReadable({ catalogue }: Service, freshness: Freshness): object {
  const toTime = (epochMs: number | null): string | null => (epochMs === null ? null : new Date(epochMs).toISOString());
  const resources = freshness.resources.map(({ name, asOf, partial }) => {
    return { name, tool: catalogue.get(name).tool, asOf: toTime(asOf), partial };
  });
  return { ...freshness, syncedAt: toTime(freshness.syncedAt), resources };
}

/** Derives tools and dictionary, and again only when the served parameter names change with the data. */
function deriveOnce(service: Service): () => { readonly tools: ToolSet; readonly dictionary: () => string } {
  const { catalogue } = service;
  let known: { readonly names: string; readonly tools: ToolSet; readonly dictionary: () => string } | undefined;
  return () => {
    const names = JSON.stringify(catalogue.resources.map((resource) => service.namesOf(resource)));
    if (known?.names === names) return known;
    const tools = createTools(catalogue, (resource) => service.namesOf(resource));
    let text: string | undefined;
    known = { names, tools, dictionary: () => (text ??= describeData(catalogue, tools)) };
    return known;
  };
}

function instructionsOf({ catalogue }: Service): string {
  return [
    "sightline serves a replica of a workspace's AI-visibility data: how AI answer engines mention, rank and cite brands.",
    `Start with ${providerOf(catalogue, 'brand').tool}: nearly every tool needs a brandId from it.`,
    `Days are UTC, YYYY-MM-DD; ranges are inclusive and cover at most ${RANGE_DAYS_MAX} days.`,
    'All data are read-only and as current as the last sync. Each result ends with X-Data-As-Of, and with ' +
      'X-Data-Coverage: partial if some data were never read completely; mention this when you report such numbers.',
    `${DICTIONARY_URI} explains every field, ${FRESHNESS_URI} shows how current each resource is.`,
  ].join('\n');
}

// Converts an error to a result for a model: what is wrong, what is allowed, the next step. Text only.
function toErrorResult(error: SightlineError, catalogue: Catalogue, tool: Tool): CallToolResult {
  const text = `${error.code}: ${sentenceOf(error)}\n${adviceOn(error, catalogue, tool)}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

// The message of an internal error goes to the log only, because it may contain details that clients must not see.
function sentenceOf({ code, message }: SightlineError): string {
  return code === 'internal' ? errorTable.internal.about : message;
}

function adviceOn({ code, hint }: SightlineError, catalogue: Catalogue, tool: Tool): string {
  switch (code) {
    case 'invalid_parameter': {
      const names = [...tool.inPath.map((name) => `${name} (required)`), ...tool.inQuery.map(({ name }) => name)];
      if (tool.skipName !== null) names.push(tool.skipName);
      const takes = names.length === 0 ? 'no arguments' : names.join(', ');
      return `${hint} ${tool.definition.name} takes ${takes}.`;
    }
    // The hint of the error table is for operators of a sync.
    case 'not_found': {
      const sources = tool.inPath.map((name) => `${name} from ${listerOf(catalogue, tool.resource, name).tool}`);
      const own = hint === errorTable.not_found.hint ? '' : `${hint} `;
      return sources.length === 0 ? 'Unknown resource.' : `${own}Take ${sources.join(', ')}.`;
    }
    case 'overloaded':
      return 'Try again in a few seconds.';
    default:
      return hint;
  }
}
