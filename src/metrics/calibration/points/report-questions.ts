import { addDays, earlierDay, laterDay } from '../../../contract/time.ts';
import type { BrandVocabulary, ProbeQuestion } from './point.ts';

type Parameters = Readonly<Record<string, string>>;

/** Returns the range of the last complete days of a brand. */
function lastDays({ first, last }: BrandVocabulary, days: number): Parameters {
  return { from: laterDay(addDays(last, 1 - days), first), to: last };
}

/** Returns the first days of a brand, in which responses to deleted prompts and mentions of deleted competitors are likely. */
function firstDays({ first, last }: BrandVocabulary, days: number): Parameters {
  return { from: first, to: earlierDay(addDays(first, days - 1), last) };
}

/** Returns each parameter with each value; the first values of all of them come first. */
function each(name: string, values: readonly string[]): Parameters[] {
  return values.map((value) => ({ [name]: value }));
}

function cross(left: readonly Parameters[], right: readonly Parameters[]): Parameters[] {
  return left.flatMap((one) => right.map((other) => ({ ...one, ...other })));
}

/** Long enough for a group or prompt to have a few responses, and short enough that some have none. */
const FEW_DAYS = 3;
const MANY_DAYS = 60;

interface Asked {
  readonly resource: string;
  readonly reason: string;
  readonly queries: readonly Parameters[];
}

/**
 * Returns valid questions about complete days of a brand. Their responses show how upstream computes reports of few responses, with filters by
 * prompt, of the first days, and of days without responses.
 */
export function questionsOf(brand: BrandVocabulary): ProbeQuestion[] {
  const engines = each('engine', brand.engines.slice(0, 2));
  const tags = each('tagId', brand.tagIds.slice(0, 1));
  const topics = each('topicId', brand.topicIds.slice(0, 1));
  const empty = brand.emptyDay === null ? [] : [{ from: brand.emptyDay, to: brand.emptyDay }];
  const day = lastDays(brand, 1);
  const few = lastDays(brand, FEW_DAYS);
  const all = lastDays(brand, MANY_DAYS);
  const narrow = [day, few, ...cross([few], engines)];
  const early = [2, 7].map((days) => firstDays(brand, days));
  const groups = each('groupBy', ['tag', 'topic', 'funnelStage', 'branded']);
  const sources = { limit: '200' };
  const asked: Asked[] = [
    {
      resource: 'metrics',
      reason: 'totals of few or no responses',
      queries: [
        ...empty,
        ...cross([day], each('promptId', brand.promptIds.slice(0, 2))),
        ...cross([few], [...topics, ...tags]),
        firstDays(brand, 1),
      ],
    },
    {
      resource: 'metrics_daily',
      reason: 'daily rows',
      queries: [
        lastDays(brand, 7),
        { ...lastDays(brand, 7), breakdown: 'none' },
        ...cross([few], tags),
        { from: addDays(brand.first, -FEW_DAYS), to: addDays(brand.first, FEW_DAYS), breakdown: 'none' },
      ],
    },
    {
      resource: 'metrics_prompts',
      reason: 'prompts with few responses',
      queries: [...narrow, ...early, ...cross(early.slice(0, 1), engines), ...cross([few], tags)],
    },
    {
      resource: 'metrics_groups',
      reason: 'groups under filters, and with few responses',
      queries: [
        ...cross(cross([few, day], [...tags, ...topics]), groups.slice(0, 2)),
        ...cross(narrow.slice(0, 3), groups.slice(0, 3)),
        ...cross([all], groups),
      ],
    },
    ...['cited_domains', 'cited_urls'].map((resource) => ({
      resource,
      reason: 'citations of a few days',
      queries: cross(
        [sources],
        [few, day, ...cross([lastDays(brand, 5)], engines.slice(0, 1)), ...early.slice(0, 1), all],
      ),
    })),
    {
      resource: 'traffic',
      reason: 'visits of one source, and of days without visits',
      queries: [
        { ...lastDays(brand, 14), source: 'assistant-a' },
        { ...lastDays(brand, 14), source: 'other-ai' },
        { from: addDays(brand.first, -20), to: addDays(brand.first, -18) },
      ],
    },
  ];
  return asked.flatMap(({ resource, reason, queries }) =>
    queries.map((query) => ({ resource, brandId: brand.id, query, reason })),
  );
}
