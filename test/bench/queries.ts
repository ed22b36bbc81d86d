import { declarations } from '../../schemas/catalogue.ts';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { readQuery } from '../../src/contract/query-parameters.ts';
import { dayOf } from '../../src/contract/time.ts';
import { type AnswerRequest, computeAnswer } from '../../src/query/answer.ts';
import { openServedReplica } from '../../src/query/open-replica.ts';
import type { Query } from '../../src/warehouse/database.ts';
import { REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import type { Generated } from './generate.ts';
import { percentile, timeMs } from './measure.ts';

const ROUNDS = 31;

/** Measures in-process queries up to their JSON, compared with their SQL statements on the same connection. */
export async function queryFigures({ copy, brandId, today }: Generated): Promise<string[]> {
  const catalogue = createCatalogue(declarations);
  const replica = await openServedReplica(copy, {
    catalogue,
    replica: { ...REPLICA_OPTIONS, connections: 1 },
    readConventions: async () => defaultConventions,
  });
  const yearAgo = new Date(Date.parse(today) - 365 * 86_400_000).toISOString().slice(0, 10);
  const lines: string[] = [];
  for (const [label, name, search] of [
    ['metrics of 30 days', 'metrics', ''],
    ['metrics of 366 days', 'metrics', `from=${yearAgo}`],
    ['daily metrics of 30 days', 'metrics_daily', ''],
    ['metrics by prompt of 30 days', 'metrics_prompts', ''],
    ['metrics by topic of 30 days', 'metrics_groups', ''],
    ['a page of 100 answers', 'responses', 'limit=100'],
    ['cited domains of 30 days', 'cited_domains', ''],
  ] as const) {
    const resource = catalogue.get(name);
    const nowMs = Date.now();
    const asked = readQuery(resource.query, new URLSearchParams(search), dayOf(nowMs));
    const request: AnswerRequest = { catalogue, replica, resource, brandId, member: null, asked, after: null, nowMs };
    const statements: Parameters<Query>[] = [];
    const answer = (query: Query) => computeAnswer(query, request, () => 'a cursor');
    // Like the server, which keeps only the statements of stored rows prepared.
    const work = <T>(task: (query: Query) => Promise<T>): Promise<T> =>
      replica.replica.work((query, _read, prepared) => task(resource.computes === undefined ? prepared : query));
    await work((query) =>
      answer((...statement) => {
        statements.push(statement);
        return query(...statement);
      }),
    );
    const own = async (): Promise<void> => {
      JSON.stringify((await work(answer)).body);
    };
    const raw = (): Promise<void> =>
      work(async (query) => {
        for (const statement of statements) await query(...statement);
      });
    const { first, second } = await mediansMs(own, raw);
    const ratio = (first / second).toFixed(2);
    lines.push(
      `  ${label.padEnd(30)} ${first.toFixed(1).padStart(7)} ms   its SQL alone ${second.toFixed(1).padStart(7)} ms   ${ratio} : 1`,
    );
  }
  await replica.replica.close();
  return lines;
}

// Alternate the two, so that other load on the machine affects both.
async function mediansMs(one: () => Promise<void>, other: () => Promise<void>) {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    times[0].push(await timeMs(one));
    times[1].push(await timeMs(other));
  }
  return { first: percentile(times[0], 0.5), second: percentile(times[1], 0.5) };
}
