import { type Collection, collectionsOf, resolveSchema, type Schema, type Specification } from './specification.ts';

/** A value of an item. */
export type Value = null | boolean | number | string | readonly Value[] | Item;

/** An item of a collection. */
export interface Item {
  readonly [member: string]: Value;
}

/** The generated items of all collections. */
export interface Library {
  readonly collections: readonly Collection[];
  /** Items by path of the list. Tests may replace them. */
  readonly items: Map<string, Item[]>;
  /** Returns an item as the endpoint of one item sends it. */
  fullItem(collection: Collection, item: Item): Item;
}

/** Most members of an embedded list. */
const EMBEDDED_MAX = 3;

const words = ['Alpha', 'Borealis', 'Cassini', 'Delta', 'Erebus', 'Fomalhaut', 'Gemini', 'Helios', 'Io', 'Juno'];

/** Generates between `least` and `most` items per collection. The same seed gives the same items. */
export function generateLibrary(specification: Specification, seed: number, least: number, most: number): Library {
  const collections = collectionsOf(specification);
  const uids = new Map<string, string[]>();
  for (const { path } of collections) {
    const count = least + (numberFrom(`${seed} ${path}`) % (most - least + 1));
    uids.set(
      path,
      Array.from({ length: count }, (_, index) => `${codeOf(path)}${String(index + 1).padStart(10, '0')}`),
    );
  }
  const generator = createGenerator(specification, collections, uids, seed);
  const items = new Map(
    collections.map(({ path, base }) => [path, (uids.get(path) ?? []).map((uid) => generator(base, uid, 0))] as const),
  );
  const fullItem = (collection: Collection, item: Item): Item => {
    // Replaced items keep their own values; embedded items have more members here than in the list.
    const own = Object.entries(item).filter(([, value]) => value === null || typeof value !== 'object');
    return { ...generator(collection.full, String(item['uid']), 0), ...Object.fromEntries(own) };
  };
  return { collections, items, fullItem };
}

type Generate = (schemaName: string, uid: string, depth: number) => Item;

function createGenerator(
  specification: Specification,
  collections: readonly Collection[],
  uids: ReadonlyMap<string, readonly string[]>,
  seed: number,
): Generate {
  // Schemas of items end with the place where they are used: AnimalHeader, AnimalBase and AnimalFull are all animals.
  const collectionOf = (schemaName: string): Collection | undefined => {
    const stem = schemaName.replace(/(Header|Base|Full)$/, '');
    return collections.find(({ base }) => stem !== schemaName && base === `${stem}Base`);
  };
  // A value depends on the item and the member only, so that embedded items have the values of the list.
  const makeValue = (schema: Schema, uid: string, member: string, depth: number): Value => {
    const { schema: resolved, name } = resolveSchema(specification, schema);
    const random = numberFrom(`${seed} ${uid} ${member}`);
    const related = collectionOf(name);
    if (related !== undefined) {
      const known = uids.get(related.path) ?? [];
      const chosen = known[random % Math.max(known.length, 1)];
      return chosen === undefined ? null : generate(name, chosen, depth + 1);
    }
    if (resolved.properties !== undefined) return generate(name, `${name} ${random % 5}`, depth + 1);
    if (resolved.type === 'array') {
      if (depth > 0) return [];
      const length = random % (EMBEDDED_MAX + 1);
      return Array.from({ length }, (_, index) =>
        makeValue(resolved.items ?? {}, uid, `${member} ${index}`, depth + 1),
      );
    }
    return scalarOf(resolved, member, uid, random);
  };
  const generate: Generate = (schemaName, uid, depth) => {
    const schema = specification.components.schemas[schemaName] ?? {};
    const required = new Set(schema.required ?? []);
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([member, memberSchema]): [string, Value] => {
        if (member === 'uid') return [member, uid];
        // A fifth of the optional members is null.
        const isNull = !required.has(member) && numberFrom(`${seed} null ${uid} ${member}`) % 5 === 0;
        return [member, isNull ? null : makeValue(memberSchema, uid, member, depth)];
      }),
    );
  };
  return generate;
}

function scalarOf(schema: Schema, member: string, uid: string, random: number): Value {
  if (schema.enum !== undefined) return schema.enum[random % schema.enum.length] ?? null;
  switch (schema.type) {
    case 'boolean':
      return random % 2 === 0;
    case 'integer':
      return /year/i.test(member) ? 1966 + (random % 60) : random % 500;
    case 'number':
      return (random % 100_000) / 10;
    default:
      if (schema.format === 'date') return new Date((random % 20_000) * 86_400_000).toISOString().slice(0, 10);
      return `${words[random % words.length]} ${words[(random >> 8) % words.length]} ${Number(uid.slice(-6)) || 0}`;
  }
}

// The letters with which the ids of a collection begin: /animal/search has the ids ANIMAL0000000001, ANIMAL0000000002 ...
function codeOf(path: string): string {
  return path.replace(/^\/|\/search$/g, '').toUpperCase();
}

// A number from 0 to 2^31 - 1 that depends on every character of the text (FNV-1a with a final mix).
function numberFrom(text: string): number {
  let hash = 2_166_136_261;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 16_777_619);
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507);
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909);
  return (hash ^ (hash >>> 16)) >>> 1;
}
