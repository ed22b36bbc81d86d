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

/** Lines of the table of questions: head and cells. */
export function questionRows({ questions }: EvaluationResults): string[][] {
  return questions.map(({ question, tools, calls, tokens, upstream }) => [
    question,
    tools.replaceAll(/\w+/g, '`$&`'),
    number(calls),
    number(tokens),
    ...upstreamCells(upstream),
    upstream?.lacks ?? '',
  ]);
}

function upstreamCells(upstream: QuestionResult['upstream']): string[] {
  if (upstream === null) return ['no answer', ''];
  const { alternative } = upstream;
  const cell = (name: keyof Figures): string =>
    `${number(upstream[name])}${alternative === null ? '' : `, or ${number(alternative[name])}`}`;
  return [cell('calls'), cell('tokens')];
}

/** Sentences with the medians. */
export function summaryText({ questions }: EvaluationResults): string {
  const answered = questions.filter(({ upstream }) => upstream !== null);
  const own = (list: readonly QuestionResult[], name: keyof Figures): string =>
    number(median(list.map((one) => one[name])));
  const other = (name: keyof Figures): string => number(median(answered.map((one) => one.upstream?.[name] ?? 0)));
  const most = Math.max(...questions.map(({ tokens }) => tokens));
  return [
    `Median of ${questions.length} questions: ${own(questions, 'calls')} call, ${own(questions, 'tokens')} tokens; at most ${number(most)} tokens.`,
    `The endpoints answer ${answered.length} of them, some in part: median ${other('calls')} calls and ${other('tokens')} tokens, against ${own(answered, 'calls')} call and ${own(answered, 'tokens')} tokens.`,
  ].join('\n');
}

/** The conversations as a chapter of the documentation. */
export function conversationsText({ conversations }: EvaluationResults): string {
  return conversations
    .map(({ title, question, calls, answer }) => {
      const total = calls.reduce((sum, call) => sum + call.tokens, 0);
      const parts = calls.map(({ tool, arguments: values, tokens, result, leftOut }, index) => {
        const cut = leftOut === 0 ? [] : [`[shortened here: ${number(leftOut)} more characters]`];
        const lines = wrapped(`${tool} ${values}`, result, ...cut);
        return `Call ${index + 1}, ${number(tokens)} tokens:\n\n${lines}`;
      });
      const head = `### ${title}\n\n> ${question}\n\n${calls.length} ${calls.length === 1 ? 'call' : 'calls'}, ${number(total)} tokens.`;
      return [head, ...parts, `Answer: ${answer}`].join('\n\n');
    })
    .join('\n\n');
}

const WIDTH = 116;

// Indented code; long lines are broken after commas and before spaces.
function wrapped(...texts: readonly string[]): string {
  return texts
    .flatMap((text) => text.split('\n').filter((line) => line !== ''))
    .flatMap((text) => text.match(new RegExp(`.{1,${WIDTH - 1}}(?:,(?! )|(?= )|$)|.{1,${WIDTH}}`, 'gu')) ?? [])
    .map((line) => `    ${line}`)
    .join('\n');
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
