import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { SightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ServerTool } from '../../contract/generic/server-tools.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { membersOf, type Operation } from '../../contract/operation/operation.ts';
import { checkInput, type InputMembers, readInput } from '../../contract/operation/read-input.ts';
import type { MetricsSource, Report, TableResult } from '../../read/metrics/table-result.ts';
import type { Scope } from '../../workspace/stored-keys.ts';
import type { Served, ServedWorkspace } from './served.ts';
import { argumentsSchema } from './tool-arguments.ts';
import { NOTE, RESULT_TOKENS, type ToolOutput } from './tool-result.ts';

/** A tool. Endpoints of the API are tools, and so are operations, measures, and guarded SQL. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** Result and use, for a model. Keep it short: every client sends all descriptions with each conversation. */
  readonly about: string;
  /** Scope that the caller needs. */
  readonly scope: Scope;
  /** Arguments by name. `workspace` is added. */
  readonly members: InputMembers;
  /** Name of the argument that limits the size of the result, in estimated tokens; null if the result is never long. */
  readonly size: 'max_tokens' | 'maxTokens' | null;
  /** Members of the result, for its schema. */
  readonly results: readonly string[];
  /**
   * Computes the result. `given` has the texts of the arguments, which are checked.
   *
   * @throws SightlineError `invalid_parameter`; also the errors of the query, such as `no_data`
   */
  run(context: ToolContext, given: URLSearchParams): Promise<ToolOutput>;
  /** Returns the next step after an error, if it is not the hint of the error. */
  advise?(error: SightlineError): string | null;
}

/** Inputs of a tool call in addition to its arguments. */
export interface ToolContext {
  readonly workspace: ServedWorkspace;
  /** Null if the server has one workspace. */
  readonly workspaceName: string | null;
  readonly catalogue: Catalogue;
  /** The newest replica, limited to the brands of the caller. */
  source(): Promise<MetricsSource>;
  /** Id of the caller. Callers take turns to run SQL. */
  readonly session: string;
  readonly signal: AbortSignal;
  /** Sends a progress notification if the caller asked for them. */
  readonly report: Report;
}

/** A read-only tool cannot be destructive, so the other hints are not needed. */
export const READ_ONLY = { readOnlyHint: true } as const;

/** Returns the arguments of a tool by name; with several workspaces, one of them names the workspace. */
export function argumentsOf({ members }: Tool, { workspaces }: Pick<Served, 'workspaces'>): InputMembers {
  return workspaces === null ? members : { workspace: { type: 'string', isRequired: true }, ...members };
}

/** Returns the definition of a tool for clients. The schema of the result has only its members, which the data dictionary explains. */
export function definitionOf(tool: Tool, served: Pick<Served, 'workspaces'>): ToolDefinition {
  // The library types schemas as mutable JSON values, which readonly declarations are not.
  const definition: unknown = {
    name: tool.name,
    title: tool.title,
    description: tool.about,
    inputSchema: argumentsSchema(argumentsOf(tool, served)),
    outputSchema: { type: 'object', properties: Object.fromEntries([...tool.results, NOTE].map((name) => [name, {}])) },
    annotations: READ_ONLY,
  };
  return definition as ToolDefinition;
}

/** Default size of the results of tools that are not endpoints, in estimated tokens. */
const DATA_TOKENS = 6_000;

const sizeMember = membersOf(
  z.object({ max_tokens: z.int().min(RESULT_TOKENS.least).max(RESULT_TOKENS.most).default(DATA_TOKENS) }),
);

/** Declares a tool that is not derived from an operation. */
export function defineTool<In extends z.ZodObject>({
  input,
  run,
  ...declared
}: Omit<Tool, 'name' | 'members' | 'size' | 'run'> & {
  readonly name: ServerTool;
  readonly input: In;
  run(context: ToolContext, input: z.infer<In>): Promise<ToolOutput>;
}): Tool {
  const members = { ...membersOf(input), ...sizeMember };
  const checked = (given: URLSearchParams): z.infer<In> => checkInput(members, given) as z.infer<In>;
  return { ...declared, size: 'max_tokens', members, run: async (context, given) => run(context, checked(given)) };
}

/** A result of an operation, and its call. */
interface Answered<Out extends z.ZodObject, Own extends z.ZodObject> {
  readonly context: ToolContext;
  readonly source: MetricsSource;
  readonly result: ValueOf<Out>;
  /** The input of the operation. */
  readonly given: URLSearchParams;
  /** Values of the arguments that only the tool has. */
  readonly own: z.infer<Own>;
}

/** The part of a tool that its operation does not declare: the short form of its results for models. */
interface Brief<Out extends z.ZodObject, Own extends z.ZodObject> {
  readonly results: Tool['results'];
  /** Arguments that only the tool has. */
  readonly own: Own;
  /** Values of arguments that are not given, if they differ from those of the operation. */
  readonly standards?: Readonly<Record<string, string | number>>;
  brief(answered: Answered<Out, Own>): Promise<ToolOutput>;
}

/** Derives a tool from an operation. */
export function operationTool<Out extends z.ZodObject, Own extends z.ZodObject>(
  operation: Operation<MetricsSource, Out>,
  { results, own, standards = {}, brief }: Brief<Out, Own>,
): Tool {
  const { name, title, about, members: declared } = operation;
  const more = membersOf(own);
  const changed = Object.entries(standards).map(([member, standard]) => {
    return [member, { ...declared[member], default: standard }] as const;
  });
  const all = Object.entries({ ...declared, ...Object.fromEntries(changed), ...more, ...sizeMember } as InputMembers);
  // The operation checks days. The instructions of the server describe them once.
  const members = Object.fromEntries(all.map(([member, { format: _, ...schema }]) => [member, schema]));
  return {
    name,
    title,
    about,
    scope: 'metrics',
    members,
    size: 'max_tokens',
    results,
    run: async (context, values) => {
      checkInput(members, values);
      const given = new URLSearchParams([...values].filter(([member]) => Object.hasOwn(declared, member)));
      for (const [member, standard] of Object.entries(standards)) {
        if (!given.has(member)) given.set(member, String(standard));
      }
      const source = await context.source();
      const result = await operation(source, given);
      const { asOf, completeTo, partial } = result as Partial<TableResult>;
      return {
        ...(partial === undefined ? {} : { asOf, completeTo, isPartial: partial }),
        ...(await brief({ context, source, result, given, own: readInput(more, values) as z.infer<Own> })),
      };
    },
  };
}
