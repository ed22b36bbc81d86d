import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Figures } from './plan.ts';

/** Path of the figures. */
export const RESULTS = join(import.meta.dirname, 'results.json');

/** Figures of a question. */
export interface QuestionResult extends Figures {
  readonly id: string;
  readonly question: string;
  /** Names of the tools, in the order of their first calls. */
  readonly tools: string;
  /** Null if the endpoints of the API cannot answer. */
  readonly upstream: (Figures & { readonly lacks: string | null; readonly alternative: Figures | null }) | null;
}

/** A conversation as it was held. */
export interface ConversationResult {
  readonly title: string;
  readonly question: string;
  readonly calls: readonly {
    readonly tool: string;
    /** As JSON. */
    readonly arguments: string;
    readonly tokens: number;
    /** The beginning of the result. */
    readonly result: string;
    /** Characters of the result that are left out. */
    readonly leftOut: number;
  }[];
  readonly answer: string;
}

/** Figures of all questions, and the conversations. */
export interface EvaluationResults {
  readonly questions: readonly QuestionResult[];
  readonly conversations: readonly ConversationResult[];
}

/** Reads the stored figures. */
export function readResults(): EvaluationResults {
  return JSON.parse(readFileSync(RESULTS, 'utf8')) as EvaluationResults;
}

/** Returns the middle value, or the mean of both. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
