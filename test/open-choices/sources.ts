import type { Choices } from './choices.ts';
import { compareText, toShare } from './numbers.ts';
import {
  isCounted,
  isInRange,
  type Query,
  type Range,
  readChoice,
  readEngine,
  readLimit,
  readRange,
} from './parameters.ts';
import { SOURCES } from './world-contents.ts';
import type { Brand, World } from './world.ts';

type Row = Record<string, unknown>;

/** What a request for sources or visits is answered from. */
export interface SourceRequest {
  readonly brand: Brand;
  readonly world: World;
  readonly query: Query;
  readonly choices: Choices;
}

interface Cited {
  readonly key: string;
  readonly domain: string;
  readonly titles: string[];
  readonly responses: Set<string>;
  readonly firstAt: number;
}

interface CitedReport {
  readonly range: Range;
  readonly limit: number;
  readonly cited: readonly Cited[];
  readonly responses: number;
}

// Counts citations by domain or URL. `titles` has one title per citation, in order of time.
function countCited({ brand, world, query, choices }: SourceRequest, key: 'domain' | 'url'): CitedReport {
  const range = readRange(query, world.nowMs, choices);
  const engine = readEngine(query, world, choices);
  const limit = readLimit(query, 50, 200, choices);
  const cited = new Map<string, Cited>();
  const answers = brand.answers.filter(
    (answer) => isInRange(answer, range, engine) && isCounted(answer.prompt, choices),
  );
  for (const { id, at, citations } of answers) {
    for (const citation of citations) {
      const entry = cited.get(citation[key]) ?? {
        key: citation[key],
        domain: citation.domain,
        titles: [],
        responses: new Set<string>(),
        firstAt: at,
      };
      entry.titles.push(citation.title);
      entry.responses.add(id);
      cited.set(entry.key, entry);
    }
  }
  return { range, limit, cited: [...cited.values()], responses: answers.length };
}

function envelope(range: Range, choices: Choices): Row {
  return choices.sourcesEcho === 'range' ? { from: range.from, to: range.to } : {};
}

/** `GET /brands/{brandId}/sources/domains`. */
export function domainsReport(request: SourceRequest): Row {
  const { choices } = request;
  const { range, limit, cited, responses } = countCited(request, 'domain');
  const citations = cited.reduce((sum, { titles }) => sum + titles.length, 0);
  const ties = {
    domain: () => 0,
    responses: (left: Cited, right: Cited) => right.responses.size - left.responses.size,
    'first-cited': (left: Cited, right: Cited) => left.firstAt - right.firstAt,
  }[choices.domainTies];
  const form = { scale: choices.domainShareScale, decimals: choices.domainShareDecimals, rounding: choices.rounding };
  const data = [...cited]
    .sort(
      (left, right) =>
        right.titles.length - left.titles.length || ties(left, right) || compareText(left.key, right.key, choices),
    )
    .slice(0, limit)
    .map((entry) => ({
      domain: entry.key,
      citations: entry.titles.length,
      responses: entry.responses.size,
      share:
        choices.domainShareOf === 'citations'
          ? toShare(entry.titles.length, citations, form)
          : toShare(entry.responses.size, responses, form),
    }));
  return { ...envelope(range, choices), data };
}

/** `GET /brands/{brandId}/sources/urls`. */
export function urlsReport(request: SourceRequest): Row {
  const { choices } = request;
  const { range, limit, cited } = countCited(request, 'url');
  const rows = cited.map((entry) => ({ entry, title: titleOf(entry, choices) }));
  type Titled = (typeof rows)[number];
  const ties = {
    url: () => 0,
    title: (left: Titled, right: Titled) => compareText(left.title, right.title, choices),
    'first-cited': (left: Titled, right: Titled) => left.entry.firstAt - right.entry.firstAt,
  }[choices.urlTies];
  const data = rows
    .sort(
      (left, right) =>
        right.entry.titles.length - left.entry.titles.length ||
        ties(left, right) ||
        compareText(left.entry.key, right.entry.key, choices),
    )
    .slice(0, limit)
    .map(({ entry, title }) => ({ url: entry.key, domain: entry.domain, title, citations: entry.titles.length }));
  return { ...envelope(range, choices), data };
}

function titleOf({ titles }: Cited, { urlTitle }: Choices): string {
  if (urlTitle === 'first') return titles[0] ?? '';
  if (urlTitle === 'last') return titles.at(-1) ?? '';
  const sorted = [...new Set(titles)].sort();
  const countOf = (title: string): number => titles.filter((each) => each === title).length;
  const size = urlTitle === 'longest' ? (title: string): number => title.length : countOf;
  // Of several titles with the same size, the first one in alphabetical order.
  return sorted.sort((left, right) => size(right) - size(left))[0] ?? '';
}

/** `GET /brands/{brandId}/traffic`. */
export function trafficReport({ brand, world, query, choices }: SourceRequest): Row {
  const range = readRange(query, world.nowMs, choices);
  const source = readChoice(query, 'source', SOURCES, choices);
  const { from, to } = range;
  if (!brand.isConnected) {
    const empty = choices.disconnectedTotals === 'zeros' ? 0 : null;
    const revenue = empty === null ? null : revenueOf(0, choices);
    const totals = { aiSessions: empty, keyEvents: empty, revenue, siteSessions: empty, shareOfSite: empty };
    const property = choices.disconnectedProperty === 'null' ? null : '';
    return { from, to, connected: false, property, currency: property, totals, data: [] };
  }
  const days = brand.visits.filter(({ date }) => date >= from && date <= to);
  const visits = days.flatMap(({ date, bySource }) =>
    SOURCES.map((name) => {
      const visit = bySource.get(name) ?? NO_VISITS;
      const { cents, ...row } = visit;
      return { row: { date, source: name, ...row, revenue: revenueOf(cents, choices) }, visit, date, name };
    }),
  );
  const ofSource = visits.filter(({ name }) => source === null || name === source);
  const summed = (choices.trafficTotals === 'of-source' ? ofSource : visits).map(({ visit }) => visit);
  const total = (of: (visit: typeof NO_VISITS) => number): number => summed.reduce((sum, visit) => sum + of(visit), 0);
  const siteSessions = days.reduce((sum, day) => sum + day.siteSessions, 0);
  const aiSessions = total(({ sessions }) => sessions);
  const form = { scale: choices.siteShareScale, decimals: choices.siteShareDecimals, rounding: choices.rounding };
  const shareOfSite = toShare(aiSessions, siteSessions, form) ?? (choices.emptySiteShare === 'zero' ? 0 : null);
  const shown = ofSource.filter(({ visit }) => visit.sessions > 0 || choices.trafficDays === 'every-day');
  const direction = choices.trafficDayOrder === 'oldest-first' ? 1 : -1;
  const data = shown.sort((left, right) => {
    if (left.date !== right.date) return left.date < right.date ? -direction : direction;
    return choices.trafficSourceOrder === 'sessions' ? right.visit.sessions - left.visit.sessions : 0;
  });
  return {
    from,
    to,
    connected: true,
    property: `${brand.name} website`,
    currency: 'EUR',
    totals: {
      aiSessions,
      keyEvents: total(({ keyEvents }) => keyEvents),
      revenue: revenueOf(
        total(({ cents }) => cents),
        choices,
      ),
      siteSessions,
      shareOfSite,
    },
    data: data.map(({ row }) => row),
  };
}

const NO_VISITS = { sessions: 0, engagedSessions: 0, newUsers: 0, keyEvents: 0, cents: 0 };

function revenueOf(cents: number, { revenue }: Choices): number | string {
  if (revenue === 'number') return cents / 100;
  return revenue === 'text' ? String(cents / 100) : (cents / 100).toFixed(2);
}
