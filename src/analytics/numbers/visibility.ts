import { dayOf, eachDay, earlierDay, laterDay } from '../../contract/time.ts';
import { type GroupTally, tally } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share } from './definitions.ts';
import {
  type Entity,
  labelsOf,
  mentionsOfAll,
  nothing,
  type Report,
  type ReportRequest,
  selectionOf,
} from './report-request.ts';

/** Returns the numbers of the brand and each currently tracked competitor over the whole range. */
export async function reportTotals(request: ReportRequest): Promise<Report> {
  const { query, conventions, asked } = request;
  const [group] = await tally(query, selectionOf(request), 'nothing', labelsOf(conventions));
  const rows = entityRows(request, group).map(({ entity, numbers }) => ({ ...entity, ...numbers }));
  return { beside: { from: asked.from, to: asked.to, responses: group?.own.responses ?? 0 }, rows };
}

/** Returns the same numbers per day and engine, or per day with all engines combined. */
export async function reportDays(request: ReportRequest): Promise<Report> {
  const { query, conventions, asked, resource } = request;
  const isCombined = Object.entries(resource.query).some(
    ([name, parameter]) => parameter.nameUnknown === true && asked.values[name] !== parameter.default,
  );
  const groups = await tally(query, selectionOf(request), isCombined ? 'day' : 'day-and-engine', labelsOf(conventions));
  const found = new Map(groups.map((group) => [JSON.stringify(group.key), group]));
  const keys = conventions.emptyDays === 'zero' ? allDays(request, isCombined) : groups.map(({ key }) => key);
  const ordered = keys.toSorted((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]));
  const rows = ordered.flatMap((key) => {
    const [date, engine] = key;
    const group = found.get(JSON.stringify(key));
    return entityRows(request, group).map(({ entity, tally: own, numbers }) => ({
      date,
      engine: isCombined ? conventions.combinedEngine : engine,
      ...entity,
      responses: own.responses,
      mentions: own.mentions,
      ...numbers,
    }));
  });
  return { beside: { from: asked.from, to: asked.to }, rows };
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

/** Returns the numbers of the brand, then of each currently tracked competitor. */
function entityRows({ brand, conventions }: ReportRequest, group: GroupTally | undefined): EntityRow[] {
  const own = group?.own ?? nothing;
  const entities: Entity[] = [{ competitorId: null, name: brand.name }, ...brand.competitors];
  const all = mentionsOfAll(brand, group);
  return entities.map(({ competitorId, name }) => {
    const mine =
      competitorId === null ? own : (group?.competitors.get(competitorId) ?? { ...nothing, responses: own.responses });
    const entityType = competitorId === null ? 'brand' : conventions.competitorType;
    return {
      entity: { entityType, competitorId, name },
      tally: mine,
      numbers: {
        visibility: share(conventions, conventions.visibility, mine.mentions, mine.responses),
        shareOfVoice: share(conventions, conventions.shareOfVoice, mine.mentions, all),
        avgPosition: avgPosition(conventions, mine),
        sentiment: sentiment(conventions, mine),
      },
    };
  });
}

function compare(a: string | null | undefined, b: string | null | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return a < b ? -1 : 1;
}
