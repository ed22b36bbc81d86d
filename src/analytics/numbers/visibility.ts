import { dayOf, eachDay, earlierDay, laterDay } from '../../contract/time.ts';
import { type GroupTally, tally } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share, voiceShare } from './definitions.ts';
import { type SortValue, sortedBy } from './order.ts';
import {
  countedCompetitors,
  labelsOf,
  mentionsOfAll,
  nothing,
  type Report,
  type ReportRequest,
  selectionOf,
} from './report-request.ts';

/** Returns the numbers of the brand and each tracked competitor over the whole range. */
export async function reportTotals(request: ReportRequest): Promise<Report> {
  const { query, conventions, asked } = request;
  const [group] = await tally(query, selectionOf(request), 'nothing', labelsOf(conventions));
  const responses = group?.own.responses ?? 0;
  const isEmpty = responses === 0 && conventions.emptyRange === 'absent';
  const rows = isEmpty ? [] : entityRows(request, group).map(({ entity, numbers }) => ({ ...entity, ...numbers }));
  return { beside: { from: asked.from, to: asked.to, responses }, rows };
}

/** Returns the same numbers per day and engine, or per day with all engines combined. */
export async function reportDays(request: ReportRequest): Promise<Report> {
  const { query, conventions, asked, resource, brand } = request;
  const isCombined = Object.entries(resource.query).some(
    ([name, parameter]) => parameter.nameUnknown === true && asked.values[name] !== parameter.default,
  );
  const groups = await tally(query, selectionOf(request), isCombined ? 'day' : 'day-and-engine', labelsOf(conventions));
  const found = new Map(groups.map((group) => [JSON.stringify(group.key), group]));
  const keys = conventions.emptyDays === 'zero' ? allDays(request, isCombined) : groups.map(({ key }) => key);
  const rows = keys.flatMap((key) => {
    const [date, engine] = key;
    const group = found.get(JSON.stringify(key));
    return entityRows(request, group).map(({ entity, tally: own, numbers }, index) => ({
      row: {
        date,
        engine: isCombined ? conventions.combinedEngine : engine,
        ...entity,
        responses: own.responses,
        mentions: own.mentions,
        ...numbers,
      },
      values: { date, engine, engineListed: placeOf(engine, brand.engines), entity: index },
    }));
  });
  const sorted = sortedBy(rows, conventions.dayOrder, ({ values }, key) => values[key as keyof typeof values]);
  return { beside: { from: asked.from, to: asked.to }, rows: sorted.map(({ row }) => row) };
}

function placeOf(engine: string | null | undefined, engines: readonly string[]): number | null {
  const place = engines.indexOf(engine ?? '');
  return place < 0 ? null : place;
}

// Every day since the brand was created, times its engines, including those without responses.
function allDays({ brand, asked, nowMs }: ReportRequest, isCombined: boolean): (string | null)[][] {
  const { engine } = asked.values;
  const engines = brand.engines.filter((slug) => engine === undefined || slug === engine);
  const keys: (string | null)[][] = [];
  const last = earlierDay(asked.to, dayOf(nowMs));
  const first = laterDay(asked.from, brand.since ?? asked.from);
  for (const day of eachDay(first, last)) {
    if (isCombined) keys.push([day]);
    else keys.push(...engines.map((slug) => [day, slug]));
  }
  return keys;
}

interface EntityRow {
  readonly entity: { readonly entityType: string; readonly competitorId: string | null; readonly name: string | null };
  readonly tally: MentionCounts;
  readonly numbers: Readonly<Record<string, number | null>>;
}

/** Returns the numbers of the brand and of each tracked competitor, in upstream's order. */
function entityRows(request: ReportRequest, group: GroupTally | undefined): EntityRow[] {
  const { brand, conventions } = request;
  const own = group?.own ?? nothing;
  const rivals = countedCompetitors(brand, conventions, 'listed');
  const all = mentionsOfAll(request, group);
  const rows = [{ competitorId: null, name: brand.name }, ...rivals].map(({ competitorId, name }, listed) => {
    const mine =
      competitorId === null ? own : (group?.competitors.get(competitorId) ?? { ...nothing, responses: own.responses });
    const entityType = competitorId === null ? 'brand' : conventions.competitorType;
    const numbers = {
      visibility: share(conventions, conventions.visibility, mine.mentions, mine.responses),
      shareOfVoice: voiceShare(conventions, mine.mentions, all),
      avgPosition: avgPosition(conventions, mine),
      sentiment: sentiment(conventions, mine),
    };
    return { entity: { entityType, competitorId, name }, tally: mine, numbers, listed };
  });
  const isShown = ({ entity, tally: mine }: EntityRow): boolean =>
    conventions.unmentioned === 'listed' || entity.competitorId === null || mine.mentions > 0;
  return sortedBy(rows.filter(isShown), conventions.entityOrder, sortValue);
}

function sortValue({ entity, tally: mine, numbers, listed }: EntityRow & { listed: number }, key: string): SortValue {
  if (key === 'brand') return entity.competitorId === null ? 0 : 1;
  if (key === 'listed') return listed;
  if (key === 'mentions') return mine.mentions;
  return key in numbers ? (numbers[key] ?? null) : entity[key as keyof typeof entity];
}
