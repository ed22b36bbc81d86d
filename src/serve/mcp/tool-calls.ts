import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type Tool as ToolDefinition,
} from '@modelcontextprotocol/server';
import { type ErrorCode, errorTable, type SightlineError, toSightlineError } from '../../base/errors.ts';
import { checkInput } from '../../contract/operation/read-input.ts';
import type { DescribedTable } from '../../operations/sql/sql-schema.ts';
import type { MetricsSource, Report } from '../../query/metrics/table-result.ts';
import type { Scope } from '../../session/stored-keys.ts';
import { callDataTool } from './call-data-tool.ts';
import { chosenWorkspace, isServed, mayUse, requireScope, sourceOf, visibleTools } from './caller.ts';
import type { DataTool, ToolContext } from './data-tool.ts';
import { argumentsOf, dataTools, definitionOf } from './data-tools/data-tools.ts';
import { tablesOf } from './data-tools/sql-tools.ts';
import type { Derive } from './derived-tools.ts';
import { callTool } from './endpoints/call-tool.ts';
import { describeNumbers } from './endpoints/numbers-text.ts';
import { errorResult, toErrorResult } from './endpoints/tool-error.ts';
import { RESULT_TOKENS, readInput } from './endpoints/tool-input.ts';
import type { Tool } from './endpoints/tool.ts';
import { listWorkspaces } from './endpoints/tools.ts';
import type { Served, ServedWorkspace } from './served.ts';
import { toParameters } from './tool-arguments.ts';

/** Options of an MCP server. */
export interface McpOptions {
  /** Called with errors whose message is not sent to clients. */
  readonly onError?: (error: Error) => void;
  /** Scopes of the caller; default: all. Tools that require another scope are not listed, and calls of them fail. */
  readonly scopes?: readonly Scope[];
  /** Maximum size of the result of an endpoint, in estimated tokens, for calls without `maxTokens`; default `RESULT_TOKENS.standard`. */
  readonly tokensMax?: number;
}

/** The parts of a server that handle tool calls. */
export interface Calling {
  readonly served: Served;
  readonly derive: Derive;
  readonly options: McpOptions;
}

/** The caller of a request. */
export interface Caller {
  /** Id of the caller. Callers take turns to run SQL. */
  readonly session: string;
  readonly signal: AbortSignal;
  /** Sends a progress notification; absent if the caller did not ask for them. */
  readonly report?: Report | undefined;
}

/** A call as the client sends it. */
export interface Call extends Caller {
  readonly name: string;
  readonly arguments?: Record<string, unknown> | undefined;
}

/** Next steps for a model, for errors whose own hint is about the command line. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  internal: 'Try again later; the log of the server has the details.',
  overloaded: 'Try again in a few seconds.',
  query_crashed: 'Select fewer rows, or aggregate.',
  query_limit: 'Select fewer rows or columns, or aggregate.',
  query_timeout: 'Ask for fewer days, or filter.',
  sql_rejected: 'Use one SELECT over the tables of `list_tables`.',
};

/** Lists the tools that the caller may use: the data tools first, then the endpoints. */
export async function listTools({ served, derive, options }: Calling): Promise<ToolDefinition[]> {
  const own = visibleTools(served, options).map((tool) => definitionOf(tool, served));
  const endpoints = mayUse('read', options)
    ? [...(await derive()).tools.values()].map(({ definition }) => definition)
    : [];
  const first = served.workspaces === null ? [] : [listWorkspaces as ToolDefinition];
  return [...first, ...own, ...endpoints];
}

/** Calls a tool. Errors of the call are returned as results, because clients show results to the model. */
export async function callByName(calling: Calling, call: Call): Promise<CallToolResult> {
  const { served, derive, options } = calling;
  if (served.workspaces !== null && call.name === listWorkspaces.name) {
    const structuredContent = { workspaces: [...served.workspaces] };
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  }
  const data = dataTools.find(({ name, scope }) => name === call.name && isServed(served, scope));
  if (data !== undefined) return callData(calling, data, call);
  const { tools } = await derive();
  const tool = tools.get(call.name);
  if (tool !== undefined) return callEndpoint(calling, tool, call);
  const known = [...visibleTools(served, options).map(({ name }) => name), ...tools.keys()].join(', ');
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${call.name}; known: ${known}`);
}

async function callData({ served, options }: Calling, tool: DataTool, call: Call): Promise<CallToolResult> {
  const declared = argumentsOf(tool, served);
  try {
    requireScope(tool.scope, options);
    const given = toParameters(call.arguments ?? {});
    const { max_tokens: tokensMax } = checkInput(declared, given);
    const workspace = chosenWorkspace(served, served.workspaces === null ? null : given.get('workspace'));
    return await served.use(workspace, (open) =>
      callDataTool(tool, contextOf(served, open, workspace, call), given, Number(tokensMax)),
    );
  } catch (thrown) {
    return failed(thrown, call, options, ({ code, hint }) => {
      // Hints of the error table are for operators at a command line.
      const own = hint === errorTable[code].hint ? (HINTS[code] ?? hint) : hint;
      return `${own} Arguments of ${tool.name}: ${Object.keys(declared).join(', ')}.`;
    });
  }
}

/** Returns the tables that the caller can query; an empty list if the caller cannot run SQL, before the first sync, or with several workspaces. */
export async function readTables({ served, options }: Calling, caller: Caller): Promise<readonly DescribedTable[]> {
  if (!served.hasSql || served.workspaces !== null || !mayUse('sql', options)) return [];
  try {
    return await served.use(null, (open) => tablesOf(contextOf(served, open, null, caller)));
  } catch (thrown) {
    if (toSightlineError(thrown).code === 'no_data') return [];
    throw thrown;
  }
}

function contextOf(
  served: Served,
  workspace: ServedWorkspace,
  workspaceName: string | null,
  { session, signal, report = () => undefined }: Caller,
): ToolContext {
  const { catalogue } = served;
  const source = (): Promise<MetricsSource> => sourceOf(served, workspace, signal, report);
  return { workspace, workspaceName, catalogue, source, report, session, signal };
}

async function callEndpoint({ served, derive, options }: Calling, tool: Tool, call: Call): Promise<CallToolResult> {
  const { tokensMax: standard = RESULT_TOKENS.standard } = options;
  const { signal } = call;
  const given = call.arguments ?? {};
  try {
    requireScope('read', options);
    const workspace = chosenWorkspace(served, readInput(tool, given).workspace);
    return await served.use(workspace, async ({ service }) => {
      // With several workspaces, the parameter names and the form of the numbers may differ from the tool definitions.
      const own = workspace === null ? tool : ((await derive(service)).tools.get(call.name) ?? tool);
      const conventions = workspace === null ? null : service.conventions();
      const numbers =
        conventions === null ? [] : describeNumbers(served.catalogue, own.resource, conventions, service.doubts());
      const input = readInput(own, given);
      return callTool(service, own, input, { signal, tokensMax: input.maxTokens ?? standard, numbers });
    });
  } catch (thrown) {
    return failed(thrown, call, options, (error) => toErrorResult(error, served.catalogue, tool));
  }
}

function failed(
  thrown: unknown,
  { signal }: Call,
  { onError }: McpOptions,
  describe: (error: SightlineError) => CallToolResult | string,
): CallToolResult {
  // The client no longer waits for this response.
  if (signal.aborted) throw thrown;
  const error = toSightlineError(thrown);
  if (error.code === 'internal') onError?.(error);
  const described = describe(error);
  return typeof described === 'string' ? errorResult(error, described) : described;
}
