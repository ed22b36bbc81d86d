import type { Client } from '@modelcontextprotocol/client';
import { connect, startBareMcp } from '../serve/mcp/support.ts';
import { conversations } from './conversations.ts';
import { type EvaluatedQuestion, runPlan, type UpstreamPlan } from './plan.ts';
import { changeQuestions } from './questions/changes.ts';
import { dataQuestions } from './questions/data.ts';
import { numberQuestions } from './questions/numbers.ts';
import type { EvaluationResults, QuestionResult } from './results.ts';
import { type EvaluatedWorld, openLabs, openMain } from './worlds.ts';

/** The questions, in the order of the documentation. */
export const questions: readonly EvaluatedQuestion[] = [...numberQuestions, ...changeQuestions, ...dataQuestions];

/** Characters of a result that the documentation shows. */
const SHOWN = 600;

/** What a run found: the answers beside the known ones, and the figures. */
export interface Evaluation {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly known: Readonly<Record<string, unknown>>;
  readonly results: EvaluationResults;
}

/**
 * Opens both worlds and answers all questions over MCP, beside the endpoints of the API if `isCompared` selects the question. Call it in a
 * test: the worlds are closed when the test ends.
 */
export async function evaluate(isCompared: (id: string) => boolean): Promise<Evaluation> {
  const worlds = { main: await openMain(), labs: await openLabs() };
  const clients = { main: await clientOf(worlds.main), labs: await clientOf(worlds.labs) };
  const answers: Record<string, unknown> = {};
  const known: Record<string, unknown> = {};
  const results: QuestionResult[] = [];
  for (const { id, question, world, plan, known: compute, upstream } of questions) {
    const { answer, figures, calls } = await runPlan(clients[world], plan);
    answers[id] = answer;
    known[id] = await compute(worlds[world]);
    const compared = upstream === undefined || !isCompared(id) ? null : await compare(clients[world], upstream);
    const tools = [...new Set(calls.map(({ tool }) => tool))].join(', ');
    results.push({ id, question, tools, ...figures, upstream: compared });
  }
  const held = [];
  for (const { title, question, plan } of conversations) {
    const { answer, calls } = await runPlan(clients.main, plan, true);
    const shown = calls.map(({ tool, values, text, tokens }) => {
      const result = text.slice(0, SHOWN);
      return { tool, arguments: JSON.stringify(values), tokens, result, leftOut: text.length - result.length };
    });
    held.push({ title, question, calls: shown, answer });
  }
  return { answers, known, results: { questions: results, conversations: held } };
}

async function compare(
  client: Client,
  { plan, lacks, alternative }: UpstreamPlan,
): Promise<NonNullable<QuestionResult['upstream']>> {
  const { figures } = await runPlan(client, plan);
  const other = alternative === undefined ? null : (await runPlan(client, alternative)).figures;
  return { ...figures, lacks: lacks ?? null, alternative: other };
}

async function clientOf({ mirror, sql }: EvaluatedWorld): Promise<Client> {
  return connect(await startBareMcp(mirror.service, {}, { sql }, mirror.clock));
}
