import type { ContentBlock } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ServerTool } from '../../contract/generic/server-tools.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { membersOf, type Operation } from '../../contract/operation/operation.ts';
import { type InputMembers, readInput } from '../../contract/operation/read-input.ts';
import type { MetricsSource, Report, TableResult } from '../../query/metrics/table-result.ts';
import type { Scope } from '../../session/stored-keys.ts';
import type { ServedWorkspace } from './served.ts';

/** A tool that is not an endpoint of the API. It computes measures and explanations, lists changes, or runs SQL. */
export interface DataTool {
  readonly name: ServerTool;
  readonly title: string;
  /** Result and use, for a model. Keep it short: every client sends all descriptions with each conversation. */
  readonly about: string;
  /** Scope that the caller needs. */
  readonly scope: Scope;
  /** Arguments by name. `max_tokens` and `workspace` are added. */
  readonly members: InputMembers;
  /** Members of the result, for its schema. */
  readonly results: readonly string[];
  /**
   * Computes the result. `given` has the texts of the arguments, which are checked.
   *
   * @throws SightlineError `invalid_parameter`; also the errors of the query, such as `no_data`
   */
  run(context: ToolContext, given: URLSearchParams): Promise<ToolOutput>;
}

/** Declares a tool that is not derived from an operation. */
export function defineTool<In extends z.ZodObject>({
  input,
  run,
  ...declared
}: Omit<DataTool, 'members' | 'run'> & {
  readonly input: In;
  run(context: ToolContext, input: z.infer<In>): Promise<ToolOutput>;
}): DataTool {
  const members = membersOf(input);
  return { ...declared, members, run: (context, given) => run(context, readInput(members, given) as z.infer<In>) };
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
  readonly results: DataTool['results'];
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
): DataTool {
  const { name, title, about, members: declared } = operation;
  const more = membersOf(own);
  const changed = Object.entries(standards).map(([member, standard]) => {
    return [member, { ...declared[member], default: standard }] as const;
  });
  return {
    name: name as ServerTool,
    title,
    about,
    scope: 'metrics',
    members: { ...declared, ...Object.fromEntries(changed), ...more } as InputMembers,
    results,
    run: async (context, all) => {
      const given = new URLSearchParams([...all].filter(([member]) => Object.hasOwn(declared, member)));
      for (const [member, standard] of Object.entries(standards)) {
        if (!given.has(member)) given.set(member, String(standard));
      }
      const source = await context.source();
      const result = await operation(source, given);
      const { asOf, completeTo, partial } = result as Partial<TableResult>;
      return {
        ...(partial === undefined ? {} : { asOf, completeTo, isPartial: partial }),
        ...(await brief({ context, source, result, given, own: readInput(more, all) as z.infer<Own> })),
      };
    },
  };
}

/** Inputs of a call of a tool besides its arguments. */
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

/** The result of a tool before it is cut to size. */
export interface ToolOutput {
  /** Members besides `list`. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Shorter forms of `content`, the longest first; the first one that fits is used. `omitted` states what it lacks. */
  readonly shorter?: readonly { readonly content: Readonly<Record<string, unknown>>; readonly omitted: string }[];
  /** The member with the rows. Rows at its end are omitted if the result would be too long. */
  readonly list?: { readonly name: string; readonly rows: readonly unknown[] };
  /** Number of all rows if `list` has only the first ones; null if it is not known. Default: the rows of `list`. */
  readonly total?: number | null;
  /** Time of the data, ISO 8601; null if they were never read, absent if the result has no data. */
  readonly asOf?: string | null | undefined;
  /** Whether days of the range were not read completely; absent if the result does not depend on it. */
  readonly isPartial?: boolean;
  /** Last day that was read completely; absent if the result does not depend on days. */
  readonly completeTo?: string | null | undefined;
  readonly remarks?: readonly string[];
  /** Content in addition to the structured content, such as an image. */
  readonly more?: readonly ContentBlock[];
}
