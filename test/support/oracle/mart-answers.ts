import { type Answer, addDays, cellsOf, count, groupBy, type Held, type Row, ratio, sum } from './rows.ts';
import { wilson } from './statistics.ts';

/** Returns the expected rows of the marts about responses, by name. `today` is the day of the last full sync. */
export function expectedAnswers(held: Held, today: string): Record<string, Row[]> {
  const { answers } = held;
  const complete = addDays(today, -1);
  const periods = periodsOf(held, complete);
  return {
    periods,
    answers_daily: daily(held),
    visibility_weekly: cellsOf(answers, 'week').map(({ where, answers: own }) => {
      const mentions = count(own, ({ mentioned }) => mentioned);
      const { lower, upper } = wilson(mentions, own.length);
      return {
        ...where,
        is_complete: addDays(where['week'], 6) <= complete,
        responses: own.length,
        mentions,
        visibility: mentions / own.length,
        visibility_lower: lower,
        visibility_upper: upper,
      };
    }),
    share_of_voice: cellsOf(answers, 'week').flatMap(({ where, answers: own }) => voices(held, where, own)),
    position_when_mentioned: cellsOf(answers, 'week').flatMap(({ where, answers: own }) => positions(where, own)),
    net_sentiment_monthly: cellsOf(answers, 'month').flatMap(({ where, answers: own }) => sentiment(where, own)),
    mentions_daily: mentionsDaily(answers),
    fct_entity_mention: answers.flatMap(mentionRows),
    fct_response: answers.map((answer) => ({
      ...idsOf(answer),
      brand_mentioned: answer.mentioned,
      brand_position: answer.position,
      brand_sentiment: answer.sentiment,
    })),
  };
}

/** Returns the ids and the time of a response, as in the fact tables. */
export function idsOf({ id, brand, prompt, engine, at, day }: Answer): Row {
  return { response_id: id, brand_id: brand, prompt_id: prompt, engine, created_at: at, day };
}

/** The two periods of each brand, with their responses. */
export function periodsOf({ answers }: Held, complete: string): Row[] {
  return [...groupBy(answers, ({ brand }) => brand)].flatMap(([brand, own]) => {
    const days = own.map(({ day }) => day).filter((day) => day <= complete);
    const anchor = days.sort().at(-1);
    if (anchor === undefined) return [];
    const isCompared = (days[0] as string) <= addDays(anchor, -55);
    return [
      {
        brand_id: brand,
        complete_to: complete,
        anchor_day: anchor,
        recent_from: addDays(anchor, -27),
        before_from: isCompared ? addDays(anchor, -55) : null,
        before_to: isCompared ? addDays(anchor, -28) : null,
      },
    ];
  });
}

/** Returns a brand's responses of the recent period and of the period before. */
export function inPeriods(answers: readonly Answer[], period: Row): { recent: Answer[]; before: Answer[] } {
  const own = answers.filter(({ brand }) => brand === period['brand_id']);
  return {
    recent: own.filter(({ day }) => day >= period['recent_from'] && day <= period['anchor_day']),
    before: own.filter(
      ({ day }) => period['before_from'] !== null && day >= period['before_from'] && day <= period['before_to'],
    ),
  };
}

function daily({ answers }: Held): Row[] {
  return [...groupBy(answers, ({ brand, day, engine }) => `${brand} ${day} ${engine}`).values()].map((own) => {
    const { brand, day, engine } = own[0] as Answer;
    return { brand_id: brand, day, engine, responses: own.length, ...placesOf(own) };
  });
}

function placesOf(own: readonly Answer[]): Row {
  const placed = own.filter(({ position }) => position !== null);
  return {
    mentions: count(own, ({ mentioned }) => mentioned),
    placed: placed.length,
    position_sum: sum(placed, ({ position }) => position as number),
    first_mentions: count(placed, ({ position }) => position === 1),
  };
}

function positions(where: Row, own: readonly Answer[]): Row[] {
  const places = placesOf(own);
  if (places['mentions'] === 0) return [];
  const average = ratio(places['position_sum'], places['placed']);
  return [
    {
      ...where,
      ...places,
      avg_position: average,
      first_mention_rate: ratio(places['first_mentions'], places['placed']),
    },
  ];
}

function voices({ brands, competitors }: Held, where: Row, own: readonly Answer[]): Row[] {
  const brand = brands.find(({ id }) => id === where['brand_id']) as Row;
  const entities = [
    { entity_type: 'brand', competitor_id: null, name: brand['name'] },
    ...competitors
      .filter(({ brand_id }) => brand_id === brand['id'])
      .map(({ id, name }) => ({ entity_type: 'competitor', competitor_id: id, name })),
  ].map((entity) => ({ ...entity, mentions: count(own, (answer) => mentions(answer, entity.competitor_id)) }));
  const all = sum(entities, (entity) => entity.mentions);
  return entities.map((entity) => ({
    ...where,
    ...entity,
    responses: own.length,
    mentions_of_all: all,
    visibility: entity.mentions / own.length,
    share_of_voice: ratio(entity.mentions, all),
  }));
}

function mentions(answer: Answer, competitor: string | null): boolean {
  if (competitor === null) return answer.mentioned;
  return answer.mentions.some(({ competitor_id }) => competitor_id === competitor);
}

function mentionRows(answer: Answer): Row[] {
  const own = { entity_type: 'brand', competitor_id: null, position: answer.position, sentiment: answer.sentiment };
  const others = answer.mentions.map(({ competitor_id, position, sentiment: label }) => ({
    entity_type: 'competitor',
    competitor_id,
    position,
    sentiment: label,
  }));
  return [...(answer.mentioned ? [own] : []), ...others].map((entity) => ({ ...idsOf(answer), ...entity }));
}

function mentionsDaily(answers: readonly Answer[]): Row[] {
  const all = answers.flatMap(mentionRows);
  const keyOf = (row: Row): string => `${row['brand_id']} ${row['day']} ${row['engine']} ${row['competitor_id']}`;
  return [...groupBy(all, keyOf).values()].map((own) => {
    const { brand_id, day, engine, entity_type, competitor_id } = own[0] as Row;
    return { brand_id, day, engine, entity_type, competitor_id, mentions: own.length };
  });
}

/** Worths and leans of the sandbox's labels in these tests. */
export const LABELS: Readonly<Record<string, { worth: number; lean: 'positive' | 'neutral' | 'negative' }>> = {
  glowing: { worth: 2, lean: 'positive' },
  warm: { worth: 1, lean: 'positive' },
  plain: { worth: 0, lean: 'neutral' },
  cold: { worth: -2, lean: 'negative' },
};

/** Worths of the labels. */
export const WORTHS = Object.fromEntries(Object.entries(LABELS).map(([label, { worth }]) => [label, worth]));

function sentiment(where: Row, own: readonly Answer[]): Row[] {
  const mentioning = own.filter(({ mentioned }) => mentioned);
  if (mentioning.length === 0) return [];
  const labels = mentioning.flatMap(({ sentiment: label }) => LABELS[label ?? ''] ?? []);
  const leaning = (lean: string): number => count(labels, (label) => label.lean === lean);
  const worths = sum(labels, ({ worth }) => worth);
  return [
    {
      ...where,
      mentions: mentioning.length,
      labelled: labels.length,
      positive: leaning('positive'),
      neutral: leaning('neutral'),
      negative: leaning('negative'),
      worth_sum: labels.length === 0 ? null : worths,
      net_sentiment: ratio(leaning('positive') - leaning('negative'), labels.length),
      avg_sentiment: ratio(worths, labels.length),
    },
  ];
}
