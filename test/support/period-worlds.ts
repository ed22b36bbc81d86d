import type { Random } from '../../src/sandbox/random.ts';
import { coverageOf, openWritten, type Written } from './written.ts';

/** Days of each of the two periods that mart.periods compares. */
export const PERIOD_DAYS = 28;

/** The responses of one engine to one prompt, in order of time: whether each mentions the brand. */
export interface Asked {
  readonly prompt: number;
  readonly engine: string;
  readonly before: readonly boolean[];
  readonly recent: readonly boolean[];
}

/** Returns `count` responses that mention the brand independently of each other, with probability `rate`. */
export function drawn(random: Random, count: number, rate: number): boolean[] {
  return Array.from({ length: count }, () => random() < rate);
}

/** Returns `count` responses of which the first `mentions` mention the brand. */
export function exactly(mentions: number, count: number): boolean[] {
  return Array.from({ length: count }, (_, place) => place < mentions);
}

/** Returns a prompt that one engine was asked. */
export function single(before: readonly boolean[], recent: readonly boolean[], prompt = 0): Asked {
  return { prompt, engine: 'one', before, recent };
}

/** Returns the id of a world's brand. */
export function worldId(world: number): string {
  return `00000000-0000-4000-8000-${String(world).padStart(12, '0')}`;
}

/**
 * Writes worlds to a new warehouse with marts, each as a brand of its own. The responses of a period are spread evenly
 * over it.
 */
export async function openWorlds(worlds: readonly (readonly Asked[])[]): Promise<Written> {
  const written = await openWritten();
  const rows = worlds.flatMap((world, index) =>
    world.flatMap(({ prompt, engine, before, recent }) =>
      [before, recent].map((answers, period) => {
        const bits = answers.map((isMentioned) => (isMentioned ? '1' : '0')).join('');
        return `('${worldId(index)}', ${prompt}, '${engine}', ${period}, '${bits}')`;
      }),
    ),
  );
  const brands = worlds.map((_, index) => `('${worldId(index)}', 'World ${index}')`);
  await written.run(`INSERT INTO brands (id, name) VALUES ${brands.join(', ')};
      CREATE TEMP TABLE asked AS FROM (VALUES ${rows.join(', ')}) t(brand, prompt, engine, period, bits);
      INSERT INTO prompts (brand_id, id, text, active)
        SELECT DISTINCT CAST(brand AS UUID), CAST(replace(brand, '-8000-', '-9' || lpad(CAST(prompt AS VARCHAR), 3, '0') || '-') AS UUID),
          'Prompt ' || prompt, true FROM asked;
      INSERT INTO responses (id, brand_id, prompt_id, engine, created_at, brand_mentioned)
        SELECT uuid(), CAST(brand AS UUID),
          CAST(replace(brand, '-8000-', '-9' || lpad(CAST(prompt AS VARCHAR), 3, '0') || '-') AS UUID), engine,
          TIMESTAMP '2026-01-05' + to_seconds(CAST((period + (place + 0.5) / length(bits)) * ${PERIOD_DAYS} * 86400 AS BIGINT)),
          substr(bits, place + 1, 1) = '1'
        FROM (SELECT *, unnest(range(length(bits))) AS place FROM asked);
      -- Without responses before the first period there is no comparison.
      INSERT INTO responses (id, brand_id, engine, created_at) SELECT uuid(), id, 'one', TIMESTAMP '2025-11-01 12:00:00' FROM brands;
      -- The last day with responses may be incomplete, so the periods end on the day before.
      INSERT INTO responses (id, brand_id, engine, created_at)
        SELECT uuid(), id, 'one', TIMESTAMP '2026-01-05 12:00:00' + INTERVAL ${2 * PERIOD_DAYS} DAY FROM brands;
      DROP TABLE asked`);
  await written.run(coverageOf('2026-01-05', '2026-03-01', '2026-03-02 02:00:00'));
  return written;
}
