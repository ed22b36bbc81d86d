import { randomBytes, randomUUID } from 'node:crypto';
import { readConventions } from '../../analytics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../../analytics/calibration/overrides.ts';
import { DONE, type Ending, endingOfError } from '../../base/ending.ts';
import { errorTable, SightlineError, toSightlineError } from '../../base/errors.ts';
import { toExactJson } from '../../base/json.ts';
import type { Resource } from '../../contract/catalogue.ts';
import { parameterForm } from '../../contract/formats.ts';
import { addDays, dayOf } from '../../contract/time.ts';
import { createService } from '../../query/create-service.ts';
import type { Service } from '../../query/service.ts';
import { type Context, catalogue, type Opened, publish, withWarehouse } from '../../session/workspace.ts';
import { type AskUpstream, createAskUpstream, type UpstreamReply } from '../../sync/ask-upstream.ts';
import { createRequestLog } from '../../sync/request-log.ts';
import type { ParameterNames } from '../../sync/slice.ts';
import { createSyncStats } from '../../sync/sync-stats.ts';
import { AllowanceReached } from '../../upstream/allowance.ts';
import { createClient } from '../../upstream/client.ts';
import { keepAnswer } from '../../warehouse/ledger/answers.ts';
import { type ComparedQuestion, writeComparison } from '../../warehouse/ledger/comparisons.ts';
import type { RunRef, RunStatus } from '../../warehouse/ledger/runs.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { REPLICA_OPTIONS } from '../../warehouse/replica.ts';
import { chooseBrandIds, readBrandNames } from '../choose-brands.ts';
import { chooseResources } from '../choose-resources.ts';
import { type OnProgress, openBudget, SYNC_RESOURCES } from '../sync.ts';
import { type BodyDifference, differencesOf } from './body-differences.ts';
import { type CompareQuestion, generateQuestions, readCompareVocabulary, seededRandom } from './compare-questions.ts';
import { createExplainer, type Explainer } from './explain-difference.ts';

/** Default and maximum number of requests. */
export const COMPARE_REQUESTS = { standard: 50, max: 5_000 } as const;

/** Data that were synced longer ago than this may lack what upstream has now. */
const FRESH_MS = 15 * 60_000;

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

/** A compared question with its differences. */
export interface Compared extends ComparedQuestion {
  readonly member: string | null;
  readonly differences: readonly BodyDifference[];
}

/** Result of a comparison. */
export interface Comparison {
  /** Time of the comparison, epoch milliseconds. */
  readonly at: number;
  readonly seed: number;
  readonly requests: number;
  readonly questions: readonly Compared[];
  /** Error that ended the comparison early, or null. */
  readonly error: SightlineError | null;
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
  const only = chooseResources(request.resources);
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
  const { database } = warehouse;
  const known = await database.exclusive(({ query }) => readBrandNames(query));
  if (known.length === 0) throw new SightlineError('no_data', 'no brand is synced yet; run `sightline sync`');
  const brandIds = chooseBrandIds(known, brands) ?? known.map(({ id }) => id);
  if (!copy.isCurrent) await publish(warehouse, layout, copy);
  const seed = given ?? Math.floor(clock.random() * 1_000_000);
  const service = serviceOf(context, layout.analytics);
  const runId = randomUUID();
  const origin = { kind: 'compare', trigger: context.trigger ?? 'command' } as const;
  const run = await warehouse.beginRun({ runId, options: `compare ${runId}`, now: clock.now(), origin });
  const stats = createSyncStats();
  const { budget, close } = await openBudget(context);
  const client = createClient({ ...config.upstream(), budget, clock, connections: config.connections });
  const log = createRequestLog({ warehouse, clock, onProgress: (latest) => onProgress(latest, budget) }, run, stats);
  const names = await database.exclusive(async ({ query }) => namesOf(await readShapes(query)));
  const ask = createAskUpstream({ catalogue, client, signal, names, log, now: clock.now, purpose: 'compare' });
  const questions: Compared[] = [];
  let error: SightlineError | null = null;
  try {
    const replica = await service.newest();
    const last = addDays(dayOf(replica.lastRun?.endedAt ?? clock.now()), -1);
    const vocabulary = await replica.replica.work((query) =>
      readCompareVocabulary(query, catalogue, { brands: brandIds, last }),
    );
    const chosen = catalogue.resources.filter(({ name }) => resources === null || resources.includes(name));
    const explain = createExplainer(database, { catalogue, conventions: replica.conventions });
    stats.forecast(requests);
    for (const question of generateQuestions(chosen, vocabulary, seededRandom(seed))) {
      if (questions.length >= requests) break;
      questions.push(await compareQuestion(question, { ask, service, names, explain, opened, run }));
    }
  } catch (thrown) {
    if (!(thrown instanceof AllowanceReached)) error = toSightlineError(signal.aborted ? interrupted() : thrown);
  } finally {
    await client.close();
    await close();
    await service.close();
  }
  const at = clock.now();
  await database.transaction((session) => writeComparison(session, { runId, at }, questions));
  await endRun(opened, run, stats, { at, error });
  await publish(warehouse, layout, copy);
  return { at, seed, requests: stats.requests, questions, error };
}

function interrupted(): SightlineError {
  return new SightlineError('interrupted', 'the comparison was stopped; the questions asked so far are stored');
}

async function endRun(
  { warehouse }: Opened,
  run: RunRef,
  { requests, retries, waitedMs }: ReturnType<typeof createSyncStats>,
  { at, error }: { readonly at: number; readonly error: SightlineError | null },
): Promise<void> {
  const status: RunStatus = error === null ? 'complete' : error.code === 'interrupted' ? 'interrupted' : 'failed';
  const totals = { status, requests, retries, waitedMs, quarantined: 0, tables: {}, error: error?.message ?? null };
  await warehouse.endRun(run, totals, at);
}

function serviceOf({ config, clock }: Context, path: string): Service {
  const overrides = toOverrides(config.conventions);
  return createService({
    catalogue,
    path,
    clock,
    cursorSecret: randomBytes(32),
    replica: REPLICA_OPTIONS,
    readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
  });
}

// Names of parameters that the specification leaves open, as upstream's OpenAPI document has them.
function namesOf(shapes: Awaited<ReturnType<typeof readShapes>>): ParameterNames {
  return new Map(
    catalogue.resources.map(({ name, query }) => [
      name,
      Object.fromEntries(
        Object.entries(query).flatMap(([declared, { nameUnknown }]) => {
          const served = nameUnknown === true ? shapes.get(name, parameterForm(declared)) : null;
          return served === null ? [] : [[declared, served]];
        }),
      ),
    ]),
  );
}

interface Asking {
  readonly ask: AskUpstream;
  readonly service: Service;
  readonly names: ParameterNames;
  readonly explain: Explainer;
  readonly opened: Opened;
  readonly run: RunRef;
}

async function compareQuestion(question: CompareQuestion, asking: Asking): Promise<Compared> {
  const { resource: name, brandId, member, query } = question;
  const { warehouse } = asking.opened;
  const resource = catalogue.get(name);
  const theirs = await asking.ask(question);
  const ours = await answerOf(question, resource, asking);
  const body = theirs.body === null ? null : parse(theirs.body);
  const differences =
    theirs.status === ours.status
      ? theirs.status === 200
        ? differencesOf(body, ours.body)
        : []
      : [{ field: 'status', kind: 'value', upstream: theirs.status, own: ours.status } as const];
  const base = { resource: name, brandId, member, query, differences, fields: fieldsOf(differences) };
  if (differences.length === 0) return { ...base, verdict: 'equal', convention: null, detail: null };
  const excuse = excuseOf(theirs, ours, differences);
  if (excuse !== null) return { ...base, verdict: 'skipped', convention: null, detail: excuse };
  if (resource.computes !== undefined && brandId !== null) {
    const answer = {
      resource: name,
      brandId,
      query,
      purpose: 'compare',
      status: theirs.status,
      body: theirs.body,
    } as const;
    await warehouse.database.transaction((session) =>
      keepAnswer(session, asking.run.runId, { ...answer, askedAt: theirs.at }),
    );
  }
  const convention = await asking.explain(question, { status: theirs.status, body }, theirs.at);
  return { ...base, verdict: 'differs', convention, detail: detailOf(differences[0] as BodyDifference) };
}

/** Our own response. */
interface OwnReply {
  readonly status: number;
  readonly body: unknown;
  /** When upstream last confirmed the data of the response, epoch milliseconds. */
  readonly asOf: number | null;
  readonly partial: boolean;
}

async function answerOf(
  { brandId, member, query }: CompareQuestion,
  resource: Resource,
  { service, names }: Asking,
): Promise<OwnReply> {
  const path: Record<string, string> = {};
  for (const [, name] of resource.path.matchAll(/\{(\w+)\}/g)) {
    const isMember = resource.change.kind === 'detail' && resource.change.parameter === name;
    path[name as string] = (isMember ? member : brandId) ?? '';
  }
  const served = names.get(resource.name) ?? {};
  const parameters = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [served[name] ?? name, value]),
  );
  try {
    const question = await service.ask(resource, path, parameters);
    const { body } = await question.answer();
    const { asOf, partial } = question;
    return { status: 200, body: JSON.parse(toExactJson(body)) as unknown, asOf, partial };
  } catch (thrown) {
    const { code } = toSightlineError(thrown);
    const kind = errorTable[code];
    if (!('status' in kind) || kind.status >= 500) throw thrown;
    return { status: kind.status, body: null, asOf: null, partial: false };
  }
}

// Upstream's data may have changed since they were synced. Other differences, such as the order of rows or a title, would not follow from that.
function excuseOf(
  { at }: UpstreamReply,
  { asOf, partial }: OwnReply,
  differences: readonly BodyDifference[],
): string | null {
  if (partial) return 'the stored data of this question are not complete yet';
  const isChanged = differences.some(
    ({ kind, upstream, own }) => kind.endsWith('row') || typeof upstream === 'number' || typeof own === 'number',
  );
  if (!isChanged || asOf === null || at - asOf <= FRESH_MS) return null;
  return `upstream may have changed in the ${Math.round((at - asOf) / 60_000)} minutes since the data were synced`;
}

function fieldsOf(differences: readonly BodyDifference[]): string[] {
  return [...new Set(differences.map(({ field, kind }) => (kind === 'value' ? field : `${field} (${kind})`)))];
}

/** Describes a difference: field, upstream's value and our own. */
export function detailOf({ field, kind, upstream, own }: BodyDifference): string {
  const shown = (value: unknown): string => {
    const text = value === undefined ? 'nothing' : JSON.stringify(value);
    return text.length > 120 ? `${text.slice(0, 120)}…` : text;
  };
  return `${field}${kind === 'value' ? '' : `, ${kind}`}: upstream ${shown(upstream)}, own ${shown(own)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
