import { dayOf, eachDay, earlierDay, laterDay } from '../../contract/time.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { type GroupTally, tally } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share, voiceShare } from './definitions.ts';
import { type SortValue, sortedBy } from './order.ts';
import {
  beforeSorting,
  listedCompetitors,
  mentionsOfAll,
  nothing,
  type Report,
  type ReportRequest,
  selectionOf,
} from './report-request.ts';

/** Returns the numbers of the brand and each tracked competitor over the whole range. */
export async function reportTotals(request: ReportRequest): Promise<Report> {
  const { from, to } = request.asked;
  const { responses, entities } = await beforeSorting(request, async (given) => {
    const [group] = await tally(given.query, selectionOf(given), 'nothing');
    const counted = group?.own.responses ?? 0;
    const isEmpty = counted === 0 && given.conventions.emptyRange === 'absent';
    return { responses: counted, entities: isEmpty ? [] : entityRows(given, group, false) };
  });
  const rows = sortEntities(request, entities).map(({ entity, numbers }) => ({ ...entity, ...numbers }));
  return { beside: { from, to, responses }, rows };
}

/** Returns the same numbers per day and engine, or per day with all engines combined. */
export async function reportDays(request: ReportRequest): Promise<Report> {
  const { conventions, asked, resource, brand } = request;
  const isCombined = Object.entries(resource.query).some(
    ([name, parameter]) => parameter.nameUnknown === true && asked.values[name] !== parameter.default,
  );
  const days = await beforeSorting(request, (given) => readDays(given, isCombined));
  const rows = days.flatMap(({ key: [date, engine], entities }) =>
    sortEntities(request, entities).map(({ entity, tally: own, numbers }, index) => ({
      row: {
        date,
        engine: isCombined ? conventions.combinedEngine : engine,
        ...entity,
        responses: own.responses,
        mentions: own.mentions,
        ...numbers,
      },
      values: { date, engine, engineListed: placeOf(engine, brand.engines), entity: index },
    })),
  );
  const sorted = sortedBy(rows, conventions.dayOrder, ({ values }, key) => values[key as keyof typeof values]);
  return { beside: { from: asked.from, to: asked.to }, rows: sorted.map(({ row }) => row) };
}

// The brand and its competitors on each day, or for each engine on a day, in no order.
async function readDays(request: ReportRequest, isCombined: boolean) {
  const by = isCombined ? 'day' : 'day-and-engine';
  const groups = await tally(request.query, selectionOf(request), by);
  const found = new Map(groups.map((group) => [JSON.stringify(group.key), group]));
  const counted = groups.map(({ key }) => key);
  return listedDays(request, counted, isCombined).map((key) => ({
    key,
    entities: entityRows(request, found.get(JSON.stringify(key)), true),
  }));
}

function placeOf(engine: string | null | undefined, engines: readonly string[]): number | null {
  const place = engines.indexOf(engine ?? '');
  return place < 0 ? null : place;
}

type DayKey = GroupTally['key'];

// The days, or engines on a day, that have rows: those with responses, and others if upstream lists them.
function listedDays(request: ReportRequest, counted: readonly DayKey[], isCombined: boolean): readonly DayKey[] {
  const { emptyDays } = request.conventions;
  if (emptyDays === 'absent') return counted;
  const { engine } = request.asked.values;
  const engines = request.brand.engines.filter((slug) => engine === undefined || slug === engine);
  const days = emptyDays === 'zero' ? daysOf(request) : counted.map(([day]) => String(day));
  const listed = days.flatMap((day): DayKey[] => (isCombined ? [[day]] : engines.map((slug) => [day, slug])));
  return [...new Map([...counted, ...listed].map((key) => [JSON.stringify(key), key])).values()];
}

// Every day since the brand was created, or of the whole range.
function daysOf(request: ReportRequest): string[] {
  const { brand, asked, nowMs, conventions } = request;
  if (conventions.outsideDays === 'zero') return [...eachDay(asked.from, asked.to)];
  const last = earlierDay(asked.to, dayOf(nowMs));
  return [...eachDay(laterDay(asked.from, brand.since ?? asked.from), last)];
}

interface EntityRow {
  readonly entity: { readonly entityType: string; readonly competitorId: string | null; readonly name: string | null };
  readonly tally: MentionCounts;
  readonly numbers: Readonly<Record<string, number | null>>;
  /** Place in upstream's list of competitors, after the brand. */
  readonly listed: number;
}

/** Returns the numbers of the brand and of each tracked competitor. */
function entityRows(request: ReportRequest, group: GroupTally | undefined, isDaily: boolean): EntityRow[] {
  const { brand, conventions } = request;
  const own = group?.own ?? nothing;
  const rivals = listedCompetitors(request, group, isDaily);
  const all = mentionsOfAll(request, group);
  return [{ competitorId: null, name: brand.name }, ...rivals].map(({ competitorId, name }, listed) => {
    const mine =
      competitorId === null ? own : (group?.competitors.get(competitorId) ?? { ...nothing, responses: own.responses });
    const entityType = competitorId === null ? 'brand' : conventions.competitorType;
    const numbers = entityNumbers(conventions, mine, all);
    return { entity: { entityType, competitorId, name }, tally: mine, numbers, listed };
  });
}

/** Returns the numbers of an entity. `all`: the mentions of all entities. */
export function entityNumbers(conventions: Conventions, mine: MentionCounts, all: number) {
  return {
    visibility: share(conventions, conventions.visibility, mine.mentions, mine.responses),
    shareOfVoice: voiceShare(conventions, mine.mentions, all),
    avgPosition: avgPosition(conventions, mine),
    sentiment: sentiment(conventions, mine),
  };
}

function sortEntities({ conventions }: ReportRequest, rows: readonly EntityRow[]): readonly EntityRow[] {
  return sortedBy(rows, conventions.entityOrder, sortValue);
}

function sortValue({ entity, tally: mine, numbers, listed }: EntityRow, key: string): SortValue {
  if (key === 'brand') return entity.competitorId === null ? 0 : 1;
  if (key === 'listed') return listed;
  if (key === 'mentions') return mine.mentions;
  return key in numbers ? (numbers[key] ?? null) : entity[key as keyof typeof entity];
}
