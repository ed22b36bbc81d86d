import { randomBytes, randomUUID } from 'node:crypto';
import { DONE, type Ending, endingOfError } from '../../base/ending.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { addDays, dayOf } from '../../contract/time.ts';
import type { KnownAnswer } from '../../metrics/calibration/points/point.ts';
import { createService } from '../../read/create-service.ts';
import { createAskUpstream } from '../../sync/ask-upstream.ts';
import { createRequestLog } from '../../sync/request-log.ts';
import { createSyncStats, type SyncStats } from '../../sync/sync-stats.ts';
import { readBrandList } from '../../warehouse/brand-list.ts';
import { readComparedAt, writeComparison } from '../../warehouse/ledger/comparisons.ts';
import type { RunRef, RunStatus } from '../../warehouse/ledger/runs.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import { replicaOptionsOf } from '../../workspace/replica-options.ts';
import { type Context, type Opened, publish, publishIfOutdated, withWarehouse } from '../../workspace/workspace.ts';
import { chooseBrandIds } from '../choose-brands.ts';
import { chooseResources } from '../choose-resources.ts';
import { type OnProgress, SYNC_RESOURCES, withClient } from '../sync.ts';
import { type Asking, type ComparedReply, type Comparison, comparePages } from './compare-question.ts';
import { generateQuestions, readCompareVocabulary, seededRandom } from './compare-questions.ts';
import { explainDifferences } from './explain-differences.ts';

/** Options of `compareWorkspace`. */
export interface CompareRequest {
  /** Maximum requests to upstream; a question takes one. */
  readonly requests: number;
  /** Names or ids of brands, and names of resources; null for all. */
  readonly brands: readonly string[] | null;
  readonly resources: readonly string[] | null;
  /** Chooses the questions; default: random. */
  readonly seed: number | null;
}

/**
 * Asks upstream generated questions, answers them from the stored data as `/v1` does, and compares status and body. Stores every
 * question with its verdict, and the responses of upstream as evidence for the calibration.
 *
 * @throws `no_data` before the first sync, `usage` for unknown brands or resources, and the errors of `withWarehouse`
 */
export function compareWorkspace(
  context: Context,
  request: CompareRequest,
  onProgress: OnProgress,
): Promise<Comparison> {
  context.config.upstream();
  const catalogue = catalogueOf(context.config);
  const only = chooseResources(catalogue, request.resources);
  return withWarehouse(context, SYNC_RESOURCES, (opened) =>
    compareOpened(context, opened, { ...request, resources: only }, onProgress),
  );
}

/** How a comparison ended: `partial` if responses differ. */
export function endingOfComparison({ error, questions }: Comparison): Ending {
  if (error !== null) return endingOfError(error);
  return questions.some(({ verdict }) => verdict === 'differs') ? { ...DONE, status: 'partial' } : DONE;
}

async function compareOpened(
  context: Context,
  opened: Opened,
  { requests, brands, resources, seed: given }: CompareRequest,
  onProgress: OnProgress,
): Promise<Comparison> {
  const { config, clock, signal } = context;
  const { warehouse, layout, copy } = opened;
  const { database, catalogue } = warehouse;
  const known = await database.exclusive(({ query }) => readBrandList(query, catalogue));
  if (known.length === 0) throw new SightlineError('no_data', 'no brand is synced yet');
  const brandIds = chooseBrandIds(known, brands) ?? known.map(({ id }) => id);
  await publishIfOutdated(warehouse, layout, copy);
  const seed = given ?? Math.floor(clock.random() * 1_000_000);
  const replicaOptions = replicaOptionsOf(config);
  const service = createService({ ...replicaOptions, path: layout.analytics, clock, cursorSecret: randomBytes(32) });
  const runId = randomUUID();
  const origin = { kind: 'compare', trigger: context.trigger ?? 'command' } as const;
  const run = await warehouse.beginRun({ runId, options: `compare ${runId}`, now: clock.now(), origin });
  const stats = createSyncStats();
  const asked: ComparedReply[] = [];
  let explanations: ReadonlyMap<KnownAnswer, string> = new Map();
  let error: SightlineError | null = null;
  try {
    const replica = await service.newest();
    const last = addDays(dayOf(replica.lastRun?.endedAt ?? clock.now()), -1);
    const vocabulary = await replica.replica.work((query) =>
      readCompareVocabulary(query, catalogue, { brands: brandIds, last }),
    );
    // A seed repeats the questions, so their order must not depend on earlier comparisons.
    const comparedAt = given === null ? await database.exclusive(({ query }) => readComparedAt(query)) : new Map();
    const chosen = catalogue.resources
      // Lists of inferred endpoints are served completely, and upstream sends pages.
      .filter(({ generic }) => generic !== true)
      .filter(({ name }) => resources === null || resources.includes(name))
      .toSorted((a, b) => (comparedAt.get(a.name) ?? 0) - (comparedAt.get(b.name) ?? 0));
    stats.forecast(requests);
    const names = new Map(catalogue.resources.map((resource) => [resource.name, service.namesOf(resource)]));
    await withClient(context, config, async (client, budget) => {
      const onLogged = (latest: SyncStats): void => onProgress(latest, budget);
      const log = createRequestLog({ warehouse, clock, onProgress: onLogged }, run, stats);
      const ask = createAskUpstream({ catalogue, client, signal, names, log, now: clock.now, purpose: 'compare' });
      const asking: Asking = { catalogue, ask, service, database, runId: run.runId };
      for (const question of generateQuestions(chosen, vocabulary, seededRandom(seed))) {
        if (stats.requests >= requests) break;
        for await (const page of comparePages(question, asking)) {
          asked.push(page);
          if (stats.requests >= requests) break;
        }
      }
    });
    const answers = asked.flatMap(({ answer }) => answer ?? []);
    const used = { catalogue, conventions: replica.conventions };
    explanations = await database.exclusive(({ query }) => explainDifferences(query, used, answers));
  } catch (thrown) {
    error = toSightlineError(signal.aborted ? interrupted() : thrown);
  } finally {
    await service.close();
  }
  const at = clock.now();
  const questions = asked.map(({ question, answer }) =>
    answer === null ? question : { ...question, convention: explanations.get(answer) ?? null },
  );
  await database.transaction((session) => writeComparison(session, { runId, at }, questions));
  await endRun(opened, run, stats, { at, error });
  await publish(warehouse, layout, copy);
  return { at, runId, seed, requests: stats.requests, questions, error };
}

function interrupted(): SightlineError {
  return new SightlineError('interrupted', 'the comparison was stopped; the questions asked so far are stored');
}

async function endRun(
  { warehouse }: Opened,
  run: RunRef,
  { requests, retries, waitedMs }: SyncStats,
  { at, error }: { readonly at: number; readonly error: SightlineError | null },
): Promise<void> {
  const status: RunStatus = error === null ? 'complete' : error.code === 'interrupted' ? 'interrupted' : 'failed';
  const totals = { status, requests, retries, waitedMs, quarantined: 0, tables: {}, error: error?.message ?? null };
  await warehouse.endRun(run, totals, at);
}
