import type { Client } from '@modelcontextprotocol/client';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { EvaluatedWorld } from './worlds.ts';

// biome-ignore lint/suspicious/noExplicitAny: results are judged by comparing answers, not by types
export type Result = any;

/** Calls a tool and returns its structured content, with lists as objects by the result's `columns`. */
export type Ask = (tool: string, values?: Readonly<Record<string, unknown>>) => Promise<Result>;

/** A question of an analyst, with the shortest plan that answers it. */
export interface EvaluatedQuestion {
  /** Short and stable, for results.json. */
  readonly id: string;
  readonly question: string;
  readonly world: 'main' | 'labs';
  /** Calls tools and extracts the answer. Arguments may use values of earlier results. */
  readonly plan: (ask: Ask) => Promise<unknown>;
  /** Computes the answer from the raw rows of the world. */
  readonly known: (world: EvaluatedWorld) => unknown;
  /** Answers with the endpoints of the API only; absent if they cannot answer. */
  readonly upstream?: UpstreamPlan;
}

/** How the endpoints of the API answer a question. */
export interface UpstreamPlan {
  /** Calls endpoints. Its answer is not compared if upstream rounds it. */
  readonly plan: (ask: Ask) => Promise<unknown>;
  /** What the answer lacks. */
  readonly lacks?: string;
  /** Another plan with fewer calls and more tokens. */
  readonly alternative?: (ask: Ask) => Promise<unknown>;
}

/** Figures of a plan. */
export interface Figures {
  readonly calls: number;
  /** Tokens of the arguments and of the results. */
  readonly tokens: number;
}

/** A call with its result. */
export interface MadeCall {
  readonly tool: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly tokens: number;
}

/** Runs a plan and counts its calls and tokens. A call that fails ends the plan, unless its errors are part of it. */
export async function runPlan<T>(
  client: Client,
  plan: (ask: Ask) => Promise<T>,
  mayFail = false,
): Promise<{ readonly answer: T; readonly figures: Figures; readonly calls: readonly MadeCall[] }> {
  const calls: MadeCall[] = [];
  const answer = await plan(async (tool, values = {}) => {
    const result = await client.callTool({ name: tool, arguments: { ...values } });
    const [first] = result.content;
    const text = first?.type === 'text' ? first.text : '';
    const isError = result.isError === true;
    if (isError && !mayFail) throw new Error(`${tool} ${JSON.stringify(values)}: ${text}`);
    calls.push({ tool, values, text, tokens: countTokens(JSON.stringify(values)) + countTokens(text) });
    return isError ? { error: text } : withRows(result.structuredContent as Result);
  });
  const tokens = calls.reduce((sum, call) => sum + call.tokens, 0);
  return { answer, figures: { calls: calls.length, tokens }, calls };
}

/** Converts rows below `columns` to objects, also those of the tables of endpoints. */
function withRows(content: Result): Result {
  const { columns, ...rest } = content;
  const toObjects = (names: readonly unknown[], rows: readonly unknown[][]): unknown[] =>
    rows.map((row) => Object.fromEntries(row.map((value, at) => [String(names[at]).split(' ')[0], value])));
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => {
      if (Array.isArray(columns) && Array.isArray(value)) return [name, toObjects(columns, value)];
      const table = value as { columns?: unknown[]; rows?: unknown[][] } | null;
      return [
        name,
        table?.columns !== undefined && table.rows !== undefined ? toObjects(table.columns, table.rows) : value,
      ];
    }),
  );
}

/** Returns a value of each row by its keys, joined by a space. */
export function column(rows: Result, keys: readonly string[], name: string): Record<string, unknown> {
  return Object.fromEntries(rows.map((row: Result) => [keys.map((key) => row[key]).join(' '), row[name]]));
}

/** A plan of one request of a metric, by its groups and periods. */
export function metric(name: string, values: Readonly<Record<string, unknown>>): (ask: Ask) => Promise<unknown> {
  return async (ask) => {
    const { rows } = await ask('query_metrics', { metrics: [name], ...values });
    return column(rows, [...((values['group_by'] ?? []) as string[]), ...('grain' in values ? ['period'] : [])], name);
  };
}

/** A plan that calls a tool once with each of the arguments. */
export function calls(tool: string, ...all: readonly Readonly<Record<string, unknown>>[]): UpstreamPlan['plan'] {
  return async (ask) => {
    for (const values of all) await ask(tool, values);
  };
}
