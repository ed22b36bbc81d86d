import { measurementOf, type Statistic, statisticOf } from '../../state/series.ts';
import { type Measurement, numberOf, type Table, textOf, toRecords } from '../../state/table.ts';

/** A name with its id. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A competitor and the responses of a prompt that mention it. */
export interface Leader extends Named {
  readonly responses: number;
}

/** A prompt with its measures in the range. */
export interface PromptRow {
  readonly id: string;
  readonly text: string;
  readonly state: string;
  readonly topicId: string | null;
  readonly topic: string | null;
  readonly tags: readonly Named[];
  readonly branded: boolean | null;
  readonly responses: number;
  readonly responsesPerDay: number | null;
  readonly competitors: readonly Leader[];
  readonly visibility: Statistic;
  readonly position: number | null;
  readonly sentiment: number | null;
  /** Visibility by engine slug. */
  readonly engines: ReadonlyMap<string, Measurement>;
}

/** Joins the list of prompts with their measures, overall and by engine. */
export function toPromptRows(listed: Table | null, measured: Table | null, byEngine: Table | null): PromptRow[] {
  const measures = new Map(toRecords(measured).map((row) => [textOf(row['prompt_id']), row]));
  const engines = new Map<string, Map<string, Measurement>>();
  for (const row of toRecords(byEngine)) {
    const id = textOf(row['prompt_id']);
    const shares = engines.get(id) ?? new Map<string, Measurement>();
    engines.set(id, shares.set(textOf(row['engine']), measurementOf(row, 'visibility')));
  }
  return toRecords(listed).map((row) => {
    const { responses, branded, topic } = row;
    const id = textOf(row['prompt_id']);
    const measure = measures.get(id) ?? null;
    return {
      id,
      text: textOf(row['text']),
      state: textOf(row['state']),
      topicId: textOf(row['topic_id']) || null,
      topic: textOf(topic) || null,
      tags: namesOf(row['tags']),
      branded: typeof branded === 'boolean' ? branded : null,
      responses: numberOf(responses) ?? 0,
      responsesPerDay: numberOf(row['responses_per_day']),
      competitors: namesOf(row['competitors']) as readonly Leader[],
      visibility: statisticOf(measure, 'visibility'),
      position: numberOf(measure?.['position']),
      sentiment: numberOf(measure?.['sentiment']),
      engines: engines.get(id) ?? new Map(),
    };
  });
}

/** Returns a JSON column with a list of objects. */
export function namesOf(value: unknown): readonly Named[] {
  return Array.isArray(value) ? (value as readonly Named[]) : [];
}
