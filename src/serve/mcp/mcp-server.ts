import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool as ToolDefinition,
} from '@modelcontextprotocol/server';
import { chooseName } from '../../base/choose-name.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import { providerOf, type Resource } from '../../contract/catalogue.ts';
import type { ServedNames } from '../../contract/query-parameters.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { Service } from '../../query/service.ts';
import { SCOPES, type Scope } from '../../session/stored-keys.ts';
import { callTool } from './call-tool.ts';
import { dictionaryOf, type Entry, TOOL_URI } from './data-dictionary.ts';
import { DICTIONARY_URI, FRESHNESS_URI, readResource, resourceEntries, resourceTemplates } from './mcp-resources.ts';
import { describeNumbers } from './numbers-text.ts';
import { NOTE } from './result-note.ts';
import type { Served } from './served.ts';
import type { ToolSet } from './tool.ts';
import { errorResult, toErrorResult } from './tool-error.ts';
import { RESULT_TOKENS, readInput } from './tool-input.ts';
import { createTools, listWorkspaces } from './tools.ts';

/** Workspaces that the instructions name. */
const WORKSPACES_NAMED_MAX = 10;

/** Options of an MCP server. */
export interface McpOptions {
  /** Called with errors whose message is not sent to clients. */
  readonly onError?: (error: Error) => void;
  /** Scopes of the caller; default: all. Tools that need another scope are not listed, and fail. */
  readonly scopes?: readonly Scope[];
  /** Estimated tokens of a result if a call does not ask for more or less; default `RESULT_TOKENS.standard`. */
  readonly tokensMax?: number;
}

/** Creates a factory of MCP servers, one per request or connection. All of them share the derived tools. */
export function createServerFactory(served: Served, options: McpOptions = {}): () => Server {
  const derive = createDerived(served);
  const instructions = instructionsOf(served);
  const canRead = maySee(options);
  return () => {
    const info = { name: 'sightline', title: 'sightline', version: VERSION };
    const server = new Server(info, { capabilities: { tools: {}, resources: {} }, instructions });
    server.onerror = (error) => options.onError?.(error);
    server.setRequestHandler('tools/list', async () => {
      const definitions = canRead ? [...(await derive()).tools.values()].map((tool) => tool.definition) : [];
      return { tools: served.workspaces === null ? definitions : [listWorkspaces as ToolDefinition, ...definitions] };
    });
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
      call({ served, derive, options }, params, mcpReq.signal),
    );
    server.setRequestHandler('resources/list', async () => {
      return { resources: resourceEntries(served, (await derive()).dictionary) };
    });
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: resourceTemplates(served) }));
    server.setRequestHandler('resources/read', async ({ params }) =>
      readResource(served, (await derive()).dictionary, params.uri),
    );
    return server;
  };
}

/** Creates a factory of servers whose tools all fail with the same error. */
export function createRefusing(refusal: SightlineError): () => Server {
  return () => {
    const server = new Server({ name: 'sightline', version: VERSION }, { capabilities: { tools: {} } });
    // The message states when to try again.
    server.setRequestHandler('tools/call', async () => errorResult(refusal, 'The call was not carried out.'));
    return server;
  };
}

function maySee({ scopes = SCOPES }: McpOptions): boolean {
  return scopes.includes('read');
}

interface Calling {
  readonly served: Served;
  readonly derive: Derive;
  readonly options: McpOptions;
}

async function call(
  { served, derive, options }: Calling,
  params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  signal: AbortSignal,
): Promise<CallToolResult> {
  const { onError, tokensMax: standard = RESULT_TOKENS.standard } = options;
  if (served.workspaces !== null && params.name === listWorkspaces.name) {
    const structuredContent = { workspaces: [...served.workspaces] };
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  }
  const { tools } = await derive();
  const tool = tools.get(params.name);
  if (tool === undefined) {
    const message = `Unknown tool: ${params.name}; known: ${[...tools.keys()].join(', ')}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  try {
    if (!maySee(options)) throw new SightlineError('forbidden', 'the key lacks the scope read');
    const workspace = chosenWorkspace(served, readInput(tool, params.arguments ?? {}).workspace);
    return await served.use(workspace, async (service) => {
      // One of several workspaces may have other parameter names and other numbers than the definitions say.
      const own = workspace === null ? tool : ((await derive(service)).tools.get(params.name) ?? tool);
      const conventions = workspace === null ? null : service.conventions();
      const numbers = conventions === null ? [] : describeNumbers(served.catalogue, own.resource, conventions);
      const input = readInput(own, params.arguments ?? {});
      return callTool(service, own, input, { signal, tokensMax: input.maxTokens ?? standard, numbers });
    });
  } catch (thrown) {
    // The client no longer waits for this response.
    if (signal.aborted) throw thrown;
    const error = toSightlineError(thrown);
    if (error.code === 'internal') onError?.(error);
    return toErrorResult(error, served.catalogue, tool);
  }
}

function chosenWorkspace({ workspaces }: Served, given: string | null): string | null {
  if (workspaces === null) return null;
  const known = workspaces.join(', ');
  if (given === null) throw new SightlineError('invalid_parameter', `workspace is missing; allowed: ${known}`);
  try {
    return chooseName('workspace', given, workspaces);
  } catch (thrown) {
    throw new SightlineError('invalid_parameter', toSightlineError(thrown).message, { cause: thrown });
  }
}

/** What is derived from the catalogue and the data. */
interface Derived {
  readonly tools: ToolSet;
  readonly dictionary: ReadonlyMap<string, Entry>;
}

/** Derives the tools for the data of a service. Default: of the workspace if there is one, otherwise of no data. */
type Derive = (service?: Service) => Promise<Derived>;

// Derives again only if the served parameter names or the calibration change with the data.
function createDerived(served: Served): Derive {
  const { catalogue, workspaces } = served;
  let known: ({ readonly key: string } & Derived) | undefined;
  const deriveFor = (service: Service | null): Derived => {
    const conventions = workspaces === null ? (service?.conventions() ?? null) : null;
    const names = catalogue.resources.map((resource) => service?.namesOf(resource) ?? {});
    const key = JSON.stringify([names, conventions]);
    if (known?.key === key) return known;
    const namesOf = (resource: Resource): ServedNames => names[catalogue.resources.indexOf(resource)] ?? {};
    const tools = createTools(catalogue, { namesOf, conventions, workspaces });
    known = { key, tools, dictionary: dictionaryOf(catalogue, tools) };
    return known;
  };
  return async (service) => {
    if (service !== undefined) return deriveFor(service);
    if (workspaces !== null) return deriveFor(null);
    return served.use(null, async (one) => {
      // What is learned from the data is known only after the replica was opened.
      if (one.conventions() === null) await one.freshness();
      return deriveFor(one);
    });
  };
}

function instructionsOf({ catalogue, workspaces }: Served): string {
  return [
    "sightline serves a replica of a workspace's AI-visibility data: how AI answer engines mention, rank and cite brands.",
    ...(workspaces === null ? [] : [`Every call names its workspace: ${workspacesText(workspaces)}.`]),
    `Start with ${providerOf(catalogue, 'brand').tool}: nearly every tool needs a brandId from it. Names are accepted instead of ids.`,
    `Days are UTC, YYYY-MM-DD; ranges are inclusive and cover at most ${RANGE_DAYS_MAX} days.`,
    `Lists are tables, {columns, rows}, if that is shorter; with plain=true rows are objects. A column {citations: [url, domain]} has lists of such values.`,
    `All data are read-only. \`${NOTE}\` in each result has the time of the data (asOf), their coverage, and what was omitted; mention \`partial\` coverage when you report such numbers.`,
    `${TOOL_URI}{name} explains the fields of a tool's result, ${DICTIONARY_URI} lists the tables, ${FRESHNESS_URI}${workspaces === null ? '' : '/{workspace}'} shows how current each resource is.`,
  ].join('\n');
}

function workspacesText(names: readonly string[]): string {
  const more = names.length - WORKSPACES_NAMED_MAX;
  const shown = names.slice(0, WORKSPACES_NAMED_MAX).join(', ');
  return more > 0 ? `${shown} and ${more} more, listed by ${listWorkspaces.name}` : shown;
}
