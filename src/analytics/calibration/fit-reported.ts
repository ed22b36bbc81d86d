import { observedOrder } from '../../contract/list-order.ts';
import type { Shapes } from '../../warehouse/ledger/shapes.ts';
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
import { type Finding, findBest, isEqual, LISTED_MAX, ROWS_LEAST, spread, wilsonLow } from './candidates.ts';
import {
  type Conventions,
  defaultConventions,
  LIST_ORDERS,
  pointChoices,
  type Rounding,
  roundingModes,
  type ShareForm,
} from './conventions.ts';
import type { EmptyDay } from './evidence-lists.ts';
import type { GroupName, PromptEvidence } from './evidence-prompts.ts';
import { type Numbers, ROWS_MAX, VOICES } from './evidence.ts';
import type { ReportedFindings } from './findings.ts';
import { openHalves } from './points/half-points.ts';

/** Upstream's reports, paired with counts of the stored responses. */
export interface ReportedEvidence {
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

/** Finds the conventions of upstream's reported numbers and lists. A convention with too little evidence gets its default. */
export function fitReported(evidence: ReportedEvidence): ReportedFindings {
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

function fitNumbers(evidence: ReportedEvidence): ReportedFindings {
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
function fitListOrder(resource: keyof typeof LIST_ORDERS, { shapes }: ReportedEvidence): Finding<readonly string[]> {
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
function fitShares({ numbers, prompts, domains, sites }: ReportedEvidence): Shares & FoundChange {
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
