import type { Catalogue } from '../../contract/catalogue.ts';
import { observedOrder } from '../../contract/list-order.ts';
import { dayOf } from '../../contract/time.ts';
import type { Database, Query, Session } from '../../warehouse/database.ts';
import { readShapes, type Shapes } from '../../warehouse/ledger/shapes.ts';
import { type Finding, findBest, isEqual, LISTED_MAX, ROWS_LEAST, spread, wilsonLow } from './candidates.ts';
import { fitMentions } from './candidates-labels.ts';
import {
  type DomainRow,
  fitChange,
  fitDomainShare,
  fitEmpty,
  fitEmptyChange,
  fitLike,
  fitPositions,
  fitShare,
  type ShareRow,
} from './candidates-numbers.ts';
import { type ChosenProbe, chooseProbes, readProbeVocabulary } from './choose-probes.ts';
import { createKnownResults, type KnownResults } from './compute-response.ts';
import {
  type Conventions,
  defaultConventions,
  LIST_ORDERS,
  pointChoices,
  type Rounding,
  roundingModes,
  type ShareForm,
} from './conventions.ts';
import { type CountedRows, type CountedTables, countedTables } from './counted-tables.ts';
import { collectStandings, createNumbers, type Numbers, ROWS_MAX, readLabels, readSince, VOICES } from './evidence.ts';
import { collectGroups } from './evidence-groups.ts';
import {
  type EmptyDay,
  readCombinedEngines,
  readCompetitorTypes,
  readDomains,
  readEmptyDays,
  readSites,
} from './evidence-lists.ts';
import { collectPrompts, countPrompts, type GroupName, type PromptEvidence } from './evidence-prompts.ts';
import { type Findings, hasFindings, type ReportedFindings, readConventions, writeFindings } from './findings.ts';
import type { PointEvidence, PointFindings } from './fit-points.ts';
import { fitStoredPoints } from './point-evidence.ts';
import { openHalves } from './points/half-points.ts';
import type { BrandVocabulary } from './points/point.ts';

/** Upstream's reports, paired with counts of the stored responses. */
interface Evidence {
  readonly labels: readonly string[];
  readonly numbers: Numbers;
  readonly prompts: PromptEvidence;
  readonly domains: { readonly rows: readonly DomainRow[]; readonly unlike: number };
  readonly sites: { readonly rows: readonly ShareRow[]; readonly empty: readonly (number | null)[] };
  readonly emptyDays: readonly EmptyDay[];
  readonly combinedEngines: readonly (string | null)[];
  readonly competitorTypes: readonly string[];
  readonly shapes: Shapes;
}

/** Options of `calibrateConventions`. */
export interface CalibrationOptions {
  readonly catalogue: Catalogue;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Does nothing if there are findings already. */
  readonly onlyIfNone?: boolean;
}

/**
 * Calibrates how upstream computes and writes its numbers, and stores the findings in `sync.calibration`. Returns the names of
 * contradicted conventions: enough rows, but no definition explains them.
 */
export async function calibrateConventions(
  database: Database,
  { catalogue, now, onlyIfNone = false }: CalibrationOptions,
): Promise<string[]> {
  return database.transaction(async (session) => {
    if (onlyIfNone && (await hasFindings(session))) return [];
    const { reported, points } = await findConventions(session, { catalogue, now });
    const findings = mergeFindings(reported, points);
    await writeFindings(session, findings, now);
    return contradictedOf(findings);
  });
}

/** Numbers are compared with the rows that upstream counts; if a calibration finds other rows, the numbers are compared again. */
const PASSES_MAX = 2;

/** Finds every convention. Starts with the rows that the calibration before found. */
async function findConventions(
  session: Pick<Session, 'query' | 'run'>,
  { catalogue, now }: Pick<CalibrationOptions, 'catalogue' | 'now'>,
  known: Known = { results: createKnownResults(), reported: new Map() },
): Promise<FoundConventions> {
  let counted = countedRows(await readConventions(session.query));
  for (let pass = 1; ; pass++) {
    const key = JSON.stringify(counted);
    const tables = countedTables(counted, dayOf(now));
    const reported = known.reported.get(key) ?? fitConventions(await readEvidence(session.query, tables));
    known.reported.set(key, reported);
    const found = await fitStoredPoints(session, catalogue, reported, known.results);
    const values = Object.fromEntries(Object.entries(found.points).map(([name, { value }]) => [name, value]));
    const next = countedRows({ ...defaultConventions, ...values });
    if (pass === PASSES_MAX || isEqual(counted, next)) return { reported, ...found };
    counted = next;
  }
}

/** Results that hold as long as the stored data do not change. */
interface Known {
  readonly results: KnownResults;
  /** Findings from reported numbers, by the rows that count. */
  readonly reported: Map<string, ReportedFindings>;
}

interface FoundConventions {
  readonly reported: ReportedFindings;
  readonly points: PointFindings;
  readonly evidence: PointEvidence;
}

// A point that neither numbers nor responses have decided keeps the value that the numbers suggest.
function mergeFindings(reported: ReportedFindings, points: PointFindings): Findings {
  const known: Readonly<Record<string, Finding<unknown> | undefined>> = reported;
  const own = Object.entries(points).filter(
    ([name, { compared }]) => compared > 0 || known[name]?.source !== 'default',
  );
  return { ...reported, ...Object.fromEntries(own) } as Findings;
}

function countedRows(conventions: CountedRows): CountedRows {
  const { countedResponses, currentDay, repeatedMentions, citationCount } = conventions;
  return { countedResponses, currentDay, repeatedMentions, citationCount };
}

/** Questions to ask, and the names of contradicted conventions. */
export interface FoundProbes {
  readonly questions: readonly ChosenProbe[];
  /** Null if nothing was calibrated. */
  readonly contradicted: readonly string[] | null;
}

/**
 * Calibrates, and returns at most `max` questions that separate the candidates of undetermined points; none if no responses are stored.
 * Unless `isLast`, some of them may be returned only after the responses to others.
 */
export type FindProbes = (max: number, isLast: boolean) => Promise<FoundProbes>;

/**
 * Returns the function that finds questions. It can be called again after the responses to its questions were kept; the other stored
 * data must not change meanwhile.
 */
export function createProbeFinder(
  database: Database,
  { catalogue, now }: Pick<CalibrationOptions, 'catalogue' | 'now'>,
): FindProbes {
  const known: Known = { results: createKnownResults(), reported: new Map() };
  let vocabulary: readonly BrandVocabulary[] | undefined;
  return async (max, isLast) =>
    database.transaction(async (session) => {
      vocabulary ??= await readProbeVocabulary(session.query, catalogue, dayOf(now));
      const brands = vocabulary;
      if (brands.length === 0) return { questions: [], contradicted: null };
      const { reported, points, evidence } = await findConventions(session, { catalogue, now }, known);
      // The next calibration starts with these values, so that it compares nothing again.
      const findings = mergeFindings(reported, points);
      await writeFindings(session, findings, now);
      const questions = await chooseProbes({ evidence, findings: points, brands, now, max, isLast });
      return { questions, contradicted: contradictedOf(findings) };
    });
}

/** Returns at most `max` questions that the next sync would ask first if the stored data stayed the same. Writes nothing. */
export async function planProbes(
  session: Pick<Session, 'query'>,
  { catalogue, now, max }: Pick<CalibrationOptions, 'catalogue' | 'now'> & { readonly max: number },
): Promise<readonly ChosenProbe[]> {
  const { query } = session;
  const brands = max === 0 ? [] : await readProbeVocabulary(query, catalogue, dayOf(now));
  if (brands.length === 0) return [];
  const unwritten = { query, run: async () => 0 };
  const { points, evidence } = await findConventions(unwritten, { catalogue, now });
  return chooseProbes({ evidence, findings: points, brands, now, max, isLast: true });
}

function contradictedOf(findings: Findings): string[] {
  return Object.entries(findings).flatMap(([name, { contradicted }]) => (contradicted ? [name] : []));
}

async function readEvidence(query: Query, tables: CountedTables): Promise<Evidence> {
  const since = (await readSince(query)) ?? '1970-01-01';
  const labels = await readLabels(query, since);
  const numbers = createNumbers();
  await collectStandings(query, numbers, { tables, labels, since });
  const counts = await countPrompts(query, numbers, tables, labels);
  await collectPrompts(query, counts);
  await collectGroups(query, counts);
  return {
    labels,
    numbers,
    prompts: counts.evidence,
    domains: await readDomains(query, tables),
    sites: await readSites(query),
    emptyDays: await readEmptyDays(query, tables, since),
    combinedEngines: await readCombinedEngines(query, since),
    competitorTypes: await readCompetitorTypes(query, since),
    shapes: await readShapes(query),
  };
}

function fitConventions(evidence: Evidence): ReportedFindings {
  return withOpenHalves(withCommonMode(fitNumbers(evidence)));
}

// Means of few mentions may decide it, see `halfPoints`.
function withOpenHalves(findings: ReportedFindings): ReportedFindings {
  const { sentiment } = findings;
  const modes = openHalves(findings).map(({ mode }) => mode);
  if (modes.length === 0) return findings;
  const note = `too little evidence: no negative half shows whether ${sentiment.value.decimals} decimals are rounded ${modes.join(' or ')}`;
  return { ...findings, sentiment: { ...sentiment, source: 'default', confidence: null, note } };
}

const ROUNDED = [
  'visibility',
  'shareOfVoice',
  'visibilityChange',
  'avgPosition',
  'sentiment',
  'domainShare',
  'shareOfSite',
] as const satisfies readonly (keyof ReportedFindings)[];

/**
 * Chooses the rounding mode that explains most kinds of numbers for all kinds that it explains as well as their own mode: an upstream
 * usually rounds all numbers alike, and few rows of one kind show the mode.
 */
function withCommonMode(findings: ReportedFindings): ReportedFindings {
  const variantsOf = (mode: Rounding['mode']): [string, Finding<Rounding>][] =>
    ROUNDED.flatMap((name) => {
      const finding: Finding<Rounding> = findings[name];
      const variant = { ...finding.value, mode };
      const isAlike = finding.value.decimals !== null && finding.alike?.some((value) => isEqual(value, variant));
      return isAlike === true ? [[name, { ...finding, value: variant }]] : [];
    });
  const all = roundingModes.map(variantsOf);
  const most = Math.max(...all.map(({ length }) => length));
  return { ...findings, ...Object.fromEntries(all.find(({ length }) => length === most) ?? []) };
}

// Without evidence of its own, an empty share is assumed to be like other shares without a whole, if these agree. It is not determined.
function assumedEmpty(others: readonly (number | null)[]): 0 | null {
  const [first = defaultConventions.emptyShare] = others;
  const isShared = others.every((value) => value === first) && (first === null || first === 0);
  return isShared ? first : defaultConventions.emptyShare;
}

function fitNumbers(evidence: Evidence): ReportedFindings {
  const { labels, numbers, prompts, domains, sites } = evidence;
  const standard = defaultConventions;
  const { conventions, period, ...shares } = fitShares(evidence);
  const { avgPosition, positionOver } = fitPositions(spread(numbers.avgPosition, ROWS_MAX), standard.avgPosition);
  const means = avgPosition.source === 'learned' ? avgPosition.value : standard.sentiment;
  const known = { labels: standard.labels, sentiment: means };
  const sentiments = fitMentions(labels, spread(numbers.sentiment, ROWS_MAX), known);
  const isWorth = Object.hasOwn(sentiments.labels.value, '');
  const emptySentiments = [...numbers.emptySentiment, ...(isWorth ? [] : numbers.unlabelledSentiment)];
  const emptyShare = fitEmpty(
    spread(numbers.emptyShare, ROWS_MAX),
    assumedEmpty([...numbers.emptyVoice, ...sites.empty]),
  );
  const emptyMean = fitEmpty(spread(numbers.emptyMean, ROWS_MAX), standard.emptyMean);
  const counted = <T>(finding: Finding<T>, unlike = numbers.unlike): Finding<T> => withUnlike(finding, unlike);
  return {
    visibility: counted(shares.visibility),
    shareOfVoice: counted(shares.shareOfVoice),
    visibilityChange: counted(shares.visibilityChange),
    avgPosition: counted(avgPosition),
    positionOver: counted(positionOver),
    sentiment: counted(sentiments.sentiment),
    labels: counted(sentiments.labels),
    domainShare: counted(shares.domainShare, domains.unlike),
    shareOfSite: shares.shareOfSite,
    emptyShare,
    emptyVoice: fitLike(spread(numbers.emptyVoice, ROWS_MAX), emptyShare, 'share'),
    emptySite: fitLike(spread(sites.empty, ROWS_MAX), emptyShare, 'share'),
    emptyMean,
    emptySentiment: fitLike(spread(emptySentiments, ROWS_MAX), emptyMean, 'mean'),
    emptyChange: fitEmptyChange(spread(prompts.emptyChanges[period], ROWS_MAX), conventions),
    emptyDays: findBest<Conventions['emptyDays'], EmptyDay>({
      rows: evidence.emptyDays,
      candidates: ['absent', 'zero', 'engines'],
      prior: standard.emptyDays,
      agrees: (candidate, { isListed, hasResponses }) =>
        (candidate === 'zero' || (candidate === 'engines' && hasResponses)) === isListed,
      describe: String,
    }),
    combinedEngine: fitName(evidence.combinedEngines, standard.combinedEngine),
    competitorType: fitName(evidence.competitorTypes, standard.competitorType),
    topCompetitors: findBest({
      rows: prompts.tops,
      candidates: [...new Set(prompts.tops.map(({ listed }) => listed)), TOP_UNBOUNDED].sort((a, b) => a - b),
      prior: standard.topCompetitors,
      // The list may also have the brand, deleted competitors, and competitors without mentions.
      agrees: (most, { listed, available }) => listed <= most && listed >= Math.min(most, available),
      settles: (most) => most,
      describe: (most) => `at most ${most}`,
    }),
    ungrouped: fitName(prompts.ungrouped, standard.ungrouped, 1),
    brandedGroups: fitBranded(prompts),
    responseOrder: fitListOrder('responses', evidence),
    alertOrder: fitListOrder('alerts', evidence),
    threadOrder: fitListOrder('forum_opportunities', evidence),
  };
}

// The order of a paged list: the one that is left of all known orders.
function fitListOrder(resource: keyof typeof LIST_ORDERS, { shapes }: Evidence): Finding<readonly string[]> {
  const prior = defaultConventions[LIST_ORDERS[resource]];
  const { shown: left = [], pairs = 0 } = observedOrder(resource, shapes.rows) ?? {};
  const contradicted = pairs > 0 && left.length === 0;
  const value = left.find((order) => isEqual(order, prior)) ?? left[0] ?? prior;
  const isLearned = left.length === 1;
  const note = contradicted
    ? 'no known order fits the newest page'
    : pairs === 0
      ? 'too little evidence: no rows to compare'
      : isLearned
        ? `${value.join(', ')}: ${pairs} of the rows rule out other orders`
        : `too little evidence: ${left.length} orders explain the ${pairs} rows`;
  return {
    value,
    source: isLearned ? 'learned' : 'default',
    compared: pairs,
    agreed: contradicted ? 0 : pairs,
    largestError: null,
    note,
    contradicted,
    confidence: isLearned ? wilsonLow(pairs, pairs) : null,
    candidates: left.slice(0, LISTED_MAX).map((order) => ({ value: order, agreed: pairs })),
  };
}

/** More competitors than any brand tracks. */
const TOP_UNBOUNDED = 1_000_000;

type Shares = Pick<
  ReportedFindings,
  'visibility' | 'shareOfVoice' | 'visibilityChange' | 'domainShare' | 'shareOfSite'
>;

// A share with too little evidence gets the form of the share with the most evidence.
function fitShares({ numbers, prompts, domains, sites }: Evidence): Shares & FoundChange {
  const standard = defaultConventions;
  const rows = {
    visibility: spread(numbers.visibility, ROWS_MAX),
    shareOfSite: spread(sites.rows, ROWS_MAX),
  };
  const fitPlain = (form: ShareForm) => ({
    visibility: fitShare(rows.visibility, form),
    shareOfVoice: fitVoice(numbers.shareOfVoice, form),
    domainShare: fitDomainShare(domains.rows, { ...form, of: standard.domainShare.of }),
    shareOfSite: fitShare(rows.shareOfSite, form),
  });
  const alone = fitPlain(standard.visibility);
  const [leader] = Object.entries(alone)
    .filter(([, { source }]) => source === 'learned')
    .sort(([, a], [, b]) => b.agreed - a.agreed);
  const form = leader === undefined ? standard.visibility : formOf(leader[1].value);
  const plain = leader === undefined ? alone : fitPlain(form);
  const conventions = {
    ...standard,
    visibility: plain.visibility.value,
    shareOfVoice: plain.shareOfVoice.value,
  };
  const { change, period } = fitChanges(prompts.changes, { ...standard.visibilityChange, ...form }, conventions);
  const following = <T>(finding: Finding<T>): Finding<T> =>
    leader === undefined || finding.source === 'learned'
      ? finding
      : { ...finding, note: `${finding.note}; uses the form of ${leader[0]}` };
  return {
    visibility: following(plain.visibility),
    shareOfVoice: following(plain.shareOfVoice),
    visibilityChange: following(change),
    domainShare: following(plain.domainShare),
    shareOfSite: following(plain.shareOfSite),
    conventions: { ...conventions, visibilityChange: change.value },
    period,
  };
}

// Compares shares of all mentions and of those of tracked competitors: whole responses decide which of them upstream reports.
function fitVoice(rows: Numbers['shareOfVoice'], form: ShareForm): Finding<ShareForm> {
  const [tracked, all] = VOICES.map((name) => fitShare(spread(rows[name], ROWS_MAX), form));
  return best([tracked as Finding<ShareForm>, all as Finding<ShareForm>]);
}

// The finding that explains most rows, if it is learned.
function best<T>(findings: readonly [Finding<T>, ...Finding<T>[]]): Finding<T> {
  const rank = ({ source, agreed }: Finding<T>): number => (source === 'learned' ? agreed : 0);
  return findings.reduce((first, other) => (rank(other) > rank(first) ? other : first));
}

/** The conventions of shares, and the earlier range with which changes agree best. */
interface FoundChange {
  readonly conventions: Conventions;
  readonly period: Conventions['changePeriod'];
}

// Changes are compared for each choice of the earlier range, because that is fitted later, with the form found here.
function fitChanges(
  changes: PromptEvidence['changes'],
  prior: Conventions['visibilityChange'],
  conventions: Conventions,
): { readonly change: Finding<Conventions['visibilityChange']>; readonly period: Conventions['changePeriod'] } {
  const found = pointChoices.changePeriod.map((period) => {
    return { change: fitChange(spread(changes[period], ROWS_MAX), prior, conventions), period };
  });
  const rank = ({ change }: (typeof found)[number]): number => (change.source === 'learned' ? change.agreed : 0);
  return found.reduce((best, other) => (rank(other) > rank(best) ? other : best));
}

function formOf({ whole, decimals, mode }: ShareForm): ShareForm {
  return { whole, decimals, mode };
}

// Calibrates a name that upstream reports literally.
function fitName<T extends string | null | GroupName>(rows: readonly T[], prior: T, least?: number): Finding<T> {
  const seen = new Map(rows.map((row) => [JSON.stringify(row), row]));
  return findBest({
    rows,
    candidates: [...seen.values()].slice(0, NAMES_MAX),
    prior,
    agrees: (candidate, row) => isEqual(candidate, row),
    describe: (candidate) => JSON.stringify(candidate),
    open: true,
    ...(least === undefined ? {} : { least }),
  });
}

/** Maximum number of candidate names. */
const NAMES_MAX = 20;

function fitBranded({ branded }: PromptEvidence): ReportedFindings['brandedGroups'] {
  const standard = defaultConventions.brandedGroups;
  const [yes, no] = ([true, false] as const).map((wanted) => {
    const names = branded.flatMap(({ name: { groupId, name }, is }) =>
      is === wanted && groupId !== null ? [{ groupId, name: name ?? groupId }] : [],
    );
    return fitName(names, wanted ? standard.true : standard.false, 1);
  }) as [Finding<(typeof standard)['true']>, Finding<(typeof standard)['true']>];
  const isLearned = yes.source === 'learned' || no.source === 'learned';
  return {
    value: { true: yes.value, false: no.value },
    source: isLearned ? 'learned' : 'default',
    compared: yes.compared + no.compared,
    agreed: yes.agreed + no.agreed,
    largestError: null,
    note: `branded: ${yes.note}; non-branded: ${no.note}`,
    contradicted: yes.contradicted || no.contradicted,
  };
}

function withUnlike<T>(finding: Finding<T>, unlike: number): Finding<T> {
  if (unlike === 0) return finding;
  const rows = unlike === 1 ? '1 row' : `${unlike} rows`;
  const note = `${finding.note}; ${rows} skipped: response counts differ from the stored responses`;
  const contradicted = finding.contradicted || (finding.compared === 0 && unlike >= ROWS_LEAST);
  return { ...finding, note, contradicted };
}
