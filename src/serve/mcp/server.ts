import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource as ResourceEntry,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server';
import { toSightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import { providerOf } from '../../contract/catalogue.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { Freshness, Service } from '../service.ts';
import { callTool, RESULT_CHARACTERS_MAX } from './call.ts';
import { describeData } from './dictionary.ts';
import { toErrorResult } from './errors.ts';
import type { ToolSet } from './tool.ts';
import { createTools } from './tools.ts';

/** Resources that clients can read beside the tools. */
export const DICTIONARY_URI = 'sightline://dictionary';
export const FRESHNESS_URI = 'sightline://freshness';

/** What can be set about an MCP server. */
export interface McpOptions {
  /** Told of errors that clients are not told the words of. */
  readonly onError?: (error: Error) => void;
  /** JSON characters of a result, by default `RESULT_CHARACTERS_MAX`. */
  readonly charactersMax?: number;
}

/** Makes MCP servers, one a request or one a connection; tools are derived once for all of them. */
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

// Until the data were opened once, nobody knows the names that were learned from them.
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
    // Nobody waits for this answer any more.
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
    description: 'Every tool, argument, field, table and column, with what it means.',
    mimeType: 'text/markdown',
  },
  {
    uri: FRESHNESS_URI,
    name: 'freshness',
    title: 'Freshness of the data',
    description: 'When the data were last synced, and how current and complete each part is.',
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
      throw new ResourceNotFoundError(uri, `There is no resource ${uri}; known: ${DICTIONARY_URI}, ${FRESHNESS_URI}`);
  }
}

// Models read dates better than milliseconds, and know the tools' names.
function toReadable({ catalogue }: Service, freshness: Freshness): object {
  const toTime = (epochMs: number | null): string | null => (epochMs === null ? null : new Date(epochMs).toISOString());
  const resources = freshness.resources.map(({ name, asOf, partial }) => {
    return { name, tool: catalogue.get(name).tool, asOf: toTime(asOf), partial };
  });
  return { ...freshness, syncedAt: toTime(freshness.syncedAt), resources };
}

/** Tools and dictionary as they follow from the names that parameters are served under; those may change with the data. */
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
    "sightline holds a copy of a workspace's AI-visibility data: how AI answer engines mention, rank and cite brands.",
    `Start with ${providerOf(catalogue, 'brand').tool}: nearly every tool needs a brandId from it.`,
    `Days are UTC, YYYY-MM-DD; both ends of a range are included, and a range covers at most ${RANGE_DAYS_MAX} days.`,
    'Nothing can be changed. Data are as current as the last sync: each result ends with X-Data-As-Of, and with ' +
      'X-Data-Coverage: partial where something was never read whole; say so when you report such numbers.',
    `${DICTIONARY_URI} explains every field, ${FRESHNESS_URI} says how current each part is.`,
  ].join('\n');
}
