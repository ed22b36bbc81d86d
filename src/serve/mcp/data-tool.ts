import type { ContentBlock } from '@modelcontextprotocol/server';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ServerTool } from '../../contract/generic/server-tools.ts';
import type { MetricsSource, Report } from '../../query/metrics/table-result.ts';
import type { Scope } from '../../session/stored-keys.ts';
import type { ServedWorkspace } from './served.ts';
import type { Argument, Values } from './tool-arguments.ts';

/** A tool that is not an endpoint of the API. It computes measures and explanations, lists changes, or runs SQL. */
export interface DataTool {
  readonly name: ServerTool;
  readonly title: string;
  /** Result and use, for a model. Keep it short: every client sends all descriptions with each conversation. */
  readonly about: string;
  /** Scope that the caller needs. */
  readonly scope: Scope;
  /** Arguments by name, the required ones first. `max_tokens` and `workspace` are added. */
  readonly arguments: Readonly<Record<string, Argument>>;
  /** Members of the result, for its schema. */
  readonly members: readonly string[];
  /**
   * Computes the result.
   *
   * @throws SightlineError `invalid_parameter`; also the errors of the query, such as `no_data`
   */
  run(context: ToolContext, values: Values): Promise<ToolOutput>;
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
  readonly asOf?: string | null;
  /** Whether days of the range were not read completely; absent if the result does not depend on it. */
  readonly isPartial?: boolean;
  /** Last day that was read completely; absent if the result does not depend on days. */
  readonly completeTo?: string | null;
  readonly remarks?: readonly string[];
  /** Content in addition to the structured content, such as an image. */
  readonly more?: readonly ContentBlock[];
}
