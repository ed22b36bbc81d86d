import { createHash } from 'node:crypto';
import type { Catalogue } from '../contract/catalogue.ts';
import type { ResourceTable } from '../contract/tables.ts';
import type { Query } from '../warehouse/database.ts';
import { quoted } from '../warehouse/schema.ts';
import { type GroupTally, REPEATED_MENTIONS, tally } from './aggregate.ts';
import type { Conventions } from './conventions.ts';
import { avgPosition, sentiment, type Tally } from './definitions.ts';

/** Two numbers are the same figure within this, relatively. */
const TOLERANCE = 1e-9;

/** One day as upstream counts it and as it is held here. */
export interface DayFigures {
  readonly day: string;
  /** Answers of the day. */
  readonly upstream: number;
  readonly held: number;
  /** Whether every figure agrees: answers by engine, mentions by entity, and means where it is known how they are made. */
  readonly agreed: boolean;
  /** Hash of both sides' figures; the same difference has the same hash. */
  readonly figures: string;
}

/** What a census is compared for. */
export interface CensusScope {
  readonly catalogue: Catalogue;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  readonly conventions: Conventions;
  /** Conventions that upstream's own numbers have shown; only those can tell a corrected answer. */
  readonly learned: ReadonlySet<string>;
}

interface Figures {
  readonly responses: number;
  readonly mentions: number | null;
  readonly avgPosition: number | null;
  readonly sentiment: number | null;
}

/**
 * Compares upstream's daily numbers with the answers held, for every day of the range that has either. Empty when
 * upstream gave no daily numbers at all.
 */
export async function compareCensus(query: Query, scope: CensusScope): Promise<DayFigures[]> {
  const upstream = await readReported(query, scope);
  if (upstream.size === 0) return [];
  const held = await readHeld(query, scope);
  const days = [...new Set([...upstream.keys(), ...held.keys()])].sort();
  return days.map((day) => compareDay(day, upstream.get(day) ?? new Map(), held.get(day) ?? new Map(), scope.learned));
}

/** By day, then by engine and entity: `chatgpt` and a competitor's id, or nothing for the brand. */
type ByDay = Map<string, Map<string, Figures>>;

async function readReported(query: Query, { catalogue, brandId, from, to }: CensusScope): Promise<ByDay> {
  const table = catalogue.get('metrics_daily').derived[0] as ResourceTable;
  const rows = await query(
    `SELECT strftime(date, '%Y-%m-%d'), engine, CAST(competitor_id AS VARCHAR), responses, mentions, avg_position, sentiment
     FROM ${quoted(table.name)} WHERE brand_id = CAST($1 AS UUID) AND row_mode = 'engine' AND _deleted_at IS NULL
       AND date >= CAST($2 AS DATE) AND date <= CAST($3 AS DATE) AND responses > 0`,
    [brandId, from, to],
  );
  const byDay: ByDay = new Map();
  for (const [day, engine, competitorId, responses, mentions, position, mood] of rows) {
    put(byDay, String(day), keyOf(engine, competitorId), {
      responses: Number(responses),
      mentions: mentions as number | null,
      avgPosition: position as number | null,
      sentiment: mood as number | null,
    });
  }
  return byDay;
}

async function readHeld(query: Query, scope: CensusScope): Promise<ByDay> {
  const { catalogue, brandId, from, to, conventions } = scope;
  const repeats = await query('SELECT 1 FROM sync.shapes WHERE resource = $1 AND name = $2', [
    REPEATED_MENTIONS.resource,
    REPEATED_MENTIONS.form,
  ]);
  const selection = { catalogue, brandId, from, to, declared: {}, values: {}, mayRepeat: repeats.length > 0 };
  const groups = await tally(query, selection, 'day-and-engine', Object.keys(conventions.labels));
  const tracked = await readTracked(query, catalogue, brandId);
  const byDay: ByDay = new Map();
  for (const group of groups) {
    const [day, engine] = group.key;
    for (const [entity, of] of entitiesOf(group, tracked)) {
      put(byDay, String(day), keyOf(engine, entity), {
        responses: of.responses,
        mentions: of.mentions,
        avgPosition: avgPosition(conventions, of),
        sentiment: sentiment(conventions, of),
      });
    }
  }
  return byDay;
}

async function readTracked(query: Query, catalogue: Catalogue, brandId: string): Promise<Set<string>> {
  const table = catalogue.get('competitors').derived[0] as ResourceTable;
  const rows = await query(
    `SELECT CAST(id AS VARCHAR) FROM ${quoted(table.name)} WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL`,
    [brandId],
  );
  return new Set(rows.map(([id]) => String(id)));
}

function entitiesOf({ own, competitors }: GroupTally, tracked: ReadonlySet<string>): [string | null, Tally][] {
  return [[null, own], ...[...competitors].filter(([id]) => tracked.has(id))];
}

function put(byDay: ByDay, day: string, key: string, figures: Figures): void {
  const entities = byDay.get(day) ?? new Map<string, Figures>();
  byDay.set(day, entities.set(key, figures));
}

function keyOf(engine: unknown, competitorId: unknown): string {
  return JSON.stringify([engine ?? null, competitorId ?? null]);
}

function compareDay(
  day: string,
  upstream: ReadonlyMap<string, Figures>,
  held: ReadonlyMap<string, Figures>,
  learned: ReadonlySet<string>,
): DayFigures {
  const keys = [...new Set([...upstream.keys(), ...held.keys()])].sort();
  const agreed = keys.every((key) => agrees(key, upstream.get(key), held.get(key), learned));
  const text = JSON.stringify(keys.map((key) => [key, upstream.get(key) ?? null, held.get(key) ?? null]));
  return {
    day,
    upstream: answersOf(upstream),
    held: answersOf(held),
    agreed,
    figures: createHash('sha256').update(text).digest('hex').slice(0, 16),
  };
}

// An entity that is listed on one side only is nobody's mention on the other.
function agrees(
  key: string,
  upstream: Figures | undefined,
  held: Figures | undefined,
  learned: ReadonlySet<string>,
): boolean {
  const isBrand = (JSON.parse(key) as unknown[])[1] === null;
  if (isBrand && (upstream?.responses ?? 0) !== (held?.responses ?? 0)) return false;
  if (upstream === undefined) return isBrand || (held?.mentions ?? 0) === 0;
  const ours = held ?? { mentions: 0, avgPosition: null, sentiment: null };
  if (upstream.mentions !== null && upstream.mentions !== (ours.mentions ?? 0)) return false;
  const means = ['avgPosition', 'sentiment'] as const;
  // Where nothing is meant, what stands for it is a convention of its own.
  if ((ours.mentions ?? 0) === 0) return true;
  return means.every((name) => {
    const isKnown = name === 'sentiment' ? learned.has('sentiment') && learned.has('labels') : learned.has(name);
    return !isKnown || isSame(upstream[name], ours[name]);
  });
}

function answersOf(figures: ReadonlyMap<string, Figures>): number {
  const byEngine = new Map<string, number>();
  for (const [key, { responses }] of figures) {
    const engine = JSON.stringify((JSON.parse(key) as unknown[])[0]);
    byEngine.set(engine, Math.max(byEngine.get(engine) ?? 0, responses));
  }
  return [...byEngine.values()].reduce((sum, responses) => sum + responses, 0);
}

function isSame(a: number | null, b: number | null): boolean {
  if (a === null || b === null) return a === b;
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a), Math.abs(b));
}
