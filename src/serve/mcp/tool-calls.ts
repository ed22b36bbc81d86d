import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type Tool as ToolDefinition,
} from '@modelcontextprotocol/server';
import { type ErrorCode, errorTable, SightlineError, toSightlineError } from '../../base/errors.ts';
import type { ServerTool } from '../../contract/generic/server-tools.ts';
import { invalidParameter, onceOf, readInput } from '../../contract/operation/read-input.ts';
import type { MetricsSource, Report } from '../../read/metrics/table-result.ts';
import type { SqlTable } from '../../web/page-data/sql-data.ts';
import { SCOPES, type Scope } from '../../workspace/stored-keys.ts';
import { tablesOf } from './data-tools/sql-tools.ts';
import type { Served, ServedWorkspace } from './served.ts';
import { toParameters } from './tool-arguments.ts';
import { RESULT_TOKENS, toResult } from './tool-result.ts';
import type { Derive } from './tool-set.ts';
import { argumentsOf, definitionOf, READ_ONLY, type Tool, type ToolContext } from './tool.ts';

/** Options of an MCP server. */
export interface McpOptions {
  /** Called with errors whose message is not sent to clients. */
  readonly onError?: (error: Error) => void;
  /** Scopes of the caller; default: all. Tools that require another scope are not listed, and calls of them fail. */
  readonly scopes?: readonly Scope[];
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
  out_of_memory: 'Ask for fewer days, or filter.',
  overloaded: 'Try again in a few seconds.',
  query_crashed: 'Select fewer rows, or aggregate.',
  query_limit: 'Select fewer rows or columns, or aggregate.',
  query_timeout: 'Ask for fewer days, or filter.',
  sql_rejected: 'Use one SELECT over the tables of `list_tables`.',
};

/** The definition of the tool that lists the workspaces. */
export const listWorkspaces = {
  name: 'list_workspaces' satisfies ServerTool,
  title: 'List workspaces',
  description: 'Names of the workspaces. Every other tool requires one as `workspace`.',
  inputSchema: { type: 'object' as const, properties: {}, additionalProperties: false },
  outputSchema: {
    type: 'object' as const,
    properties: { workspaces: { type: 'array', items: { type: 'string' } } },
    required: ['workspaces'],
  },
  annotations: READ_ONLY,
};

/** Returns whether the caller has a scope. */
export function mayUse(scope: Scope, { scopes = SCOPES }: Pick<McpOptions, 'scopes'>): boolean {
  return scopes.includes(scope);
}

/** Throws `forbidden` if the caller lacks a scope. */
export function requireScope(scope: Scope, options: Pick<McpOptions, 'scopes'>): void {
  if (!mayUse(scope, options)) throw new SightlineError('forbidden', `the key lacks the scope ${scope}`);
}

/**
 * Returns the workspace that a call names; null if the server has only one workspace.
 *
 * @throws SightlineError `invalid_parameter` with the known names
 */
export function chosenWorkspace({ workspaces }: Served, given: string | null): string | null {
  if (workspaces === null) return null;
  if (given !== null && workspaces.includes(given)) return given;
  throw invalidParameter('workspace', given ?? '', workspaces.join(', '), workspaces);
}

/** Returns the newest replica of a workspace, limited to the brands of the caller. */
export async function sourceOf(
  { catalogue, clock }: Served,
  { service }: ServedWorkspace,
  signal: AbortSignal,
  report?: Report,
): Promise<MetricsSource> {
  const replica = await service.newest();
  const { allowedBrands } = replica;
  const brands = allowedBrands === null ? {} : { brands: [...allowedBrands] };
  return { replica, catalogue, nowMs: clock.now(), signal, ...brands, ...(report === undefined ? {} : { report }) };
}

/** Lists the tools that the caller may use: the data tools first, then the endpoints. */
export async function listTools({ served, derive, options }: Calling): Promise<ToolDefinition[]> {
  const first = served.workspaces === null ? [] : [listWorkspaces as ToolDefinition];
  return [...first, ...(await usableTools(derive, options)).map((tool) => definitionOf(tool, served))];
}

async function usableTools(derive: Derive, options: McpOptions): Promise<readonly Tool[]> {
  return [...(await derive()).tools.values()].filter(({ scope }) => mayUse(scope, options));
}

/** Calls a tool. Errors of the call are returned as results, because clients show results to the model. */
export async function callByName({ served, derive, options }: Calling, call: Call): Promise<CallToolResult> {
  if (served.workspaces !== null && call.name === listWorkspaces.name) {
    const structuredContent = { workspaces: [...served.workspaces] };
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  }
  const tool = (await derive()).tools.get(call.name);
  if (tool === undefined) {
    const known = (await usableTools(derive, options)).map(({ name }) => name).join(', ');
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${call.name}; known: ${known}`);
  }
  try {
    requireScope(tool.scope, options);
    const given = toParameters(call.arguments ?? {});
    const workspace = chosenWorkspace(served, onceOf(given, 'workspace'));
    if (workspace !== null) given.delete('workspace');
    return await served.use(workspace, async (open) => {
      // With several workspaces, the parameter names and the form of the numbers may differ from the tool definitions.
      const own = workspace === null ? tool : ((await derive(open.service)).tools.get(call.name) ?? tool);
      const tokensMax = sizeOf(own, given) ?? RESULT_TOKENS.standard;
      const output = await own.run(contextOf(served, open, workspace, call), given);
      return toResult(output, tokensMax, await open.service.running());
    });
  } catch (thrown) {
    return failed(thrown, tool, call, { served, options });
  }
}

function sizeOf({ size, members }: Tool, given: URLSearchParams): number | null {
  const member = size === null ? undefined : members[size];
  if (size === null || member === undefined) return null;
  return (readInput({ [size]: member }, given)[size] as number | undefined) ?? null;
}

/** Returns the tables that the caller can query; an empty list if the caller cannot run SQL, before the first sync, or with several workspaces. */
export async function readTables({ served, options }: Calling, caller: Caller): Promise<readonly SqlTable[]> {
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

function failed(
  thrown: unknown,
  tool: Tool,
  { signal }: Call,
  { served, options: { onError } }: Pick<Calling, 'served' | 'options'>,
): CallToolResult {
  // The client no longer waits for this response.
  if (signal.aborted) throw thrown;
  const error = toSightlineError(thrown);
  if (error.code === 'internal') onError?.(error);
  return errorResult(error, tool.advise?.(error) ?? adviceOn(error, tool, served));
}

// Hints of the error table are for operators at a command line.
function adviceOn({ code, hint }: SightlineError, tool: Tool, served: Served): string {
  const own = hint === errorTable[code].hint ? (HINTS[code] ?? hint) : hint;
  if (code !== 'invalid_parameter') return own;
  const names = Object.entries(argumentsOf(tool, served)).map(([member, { isRequired }]) =>
    isRequired === true ? `${member} (required)` : member,
  );
  return `${own} Arguments of ${tool.name}: ${names.length === 0 ? 'none' : names.join(', ')}.`;
}

/** Returns a result for a model about an error: what is wrong, what is allowed, the next step. Text only. */
export function errorResult({ code, message }: SightlineError, advice: string): CallToolResult {
  // The message of an internal error goes to the log only, because it may contain details that clients must not see.
  const text = `${code}: ${code === 'internal' ? errorTable.internal.about : message}\n${advice}`;
  return { isError: true, content: [{ type: 'text', text }] };
}
