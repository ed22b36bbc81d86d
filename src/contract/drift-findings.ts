import { hideKeys } from '../base/errors.ts';
import { ExactNumber, toExactJson } from '../base/json.ts';
import type { Resource } from './catalogue.ts';

/** How an answer can depart from what was declared or seen before. */
export type DriftKind = 'unknown_field' | 'vanished_field' | 'changed_type' | 'new_value' | 'implausible_value';

/** One way in which the items of a page depart, and how many do. */
export interface Finding {
  /** The table; null for what stands around the items. */
  readonly table: string | null;
  /** The field, with dots between the names of nested ones. */
  readonly path: string;
  readonly kind: DriftKind;
  /** What was expected and what came, or the new value; null where the path says it all. */
  readonly detail: string | null;
  count: number;
  /** JSON of one value that shows it, cut and without keys. */
  readonly example: string | null;
}

/** Collects the findings of a page. */
export interface Findings {
  add(
    table: string | null,
    path: string,
    kind: DriftKind,
    detail: string | null,
    example?: unknown,
    count?: number,
  ): void;
  take(): readonly Finding[];
}

/** Something that answers have shown: kept from run to run, so that what is new or gone is noticed. */
export interface Knowledge {
  readonly table: string | null;
  readonly path: string;
  /**
   * `value`: a label seen; `present`, `optional`: a field that is always or sometimes there; `many`: a field with too many
   * values to watch; `settled`: the values seen until then are those there are.
   */
  readonly kind: 'value' | 'present' | 'optional' | 'many' | 'settled';
  readonly value: string | null;
}

/** What shapes of one resource share. */
export interface ShapeContext {
  readonly resource: Resource;
  readonly knowledge: readonly Knowledge[];
  readonly learned: Knowledge[];
  readonly findings: Findings;
}

/** Distinct findings kept of one page: an upstream that makes up names would find no end. */
const FINDINGS_MAX = 200;
const NAME_CHARACTERS_MAX = 120;
const EXAMPLE_CHARACTERS_MAX = 200;

/** An empty collection. */
export function createFindings(): Findings {
  let found = new Map<string, Finding>();
  return {
    add: (table, path, kind, detail, example, count = 1) => {
      // Found by the raw words: what is found again, as in every item of a page, costs no more than a look.
      const identity = `${table}\n${path}\n${kind}\n${kind === 'unknown_field' ? '' : detail}`;
      const known = found.get(identity);
      if (known !== undefined) known.count += count;
      else if (found.size < FINDINGS_MAX) {
        const place = cut(path, NAME_CHARACTERS_MAX);
        const said = detail === null ? null : cut(detail, NAME_CHARACTERS_MAX);
        const shown = example === undefined ? null : exampleOf(example);
        found.set(identity, { table, path: place, kind, detail: said, count, example: shown });
      }
    },
    take: () => {
      if (found.size === 0) return [];
      const taken = [...found.values()];
      found = new Map();
      return taken;
    },
  };
}

/** Text that is equal for findings of the same thing; of an unknown field its path alone says which. */
export function identityOf({ table, path, kind, detail }: Pick<Finding, 'table' | 'path' | 'kind' | 'detail'>): string {
  const isByPath = kind === 'unknown_field' || kind === 'vanished_field';
  return JSON.stringify([table, path, kind, isByPath ? null : detail]);
}

/** The text without keys and well-formed, no longer than so many characters. */
export function cut(text: string, charactersMax: number): string {
  // Keys are hidden first: cut first, one could be left in half.
  const safe = hideKeys(text);
  return (safe.length > charactersMax ? `${safe.slice(0, charactersMax - 1)}…` : safe).toWellFormed();
}

// Long values are cut before they are written out: an example is made on a page that may be large.
function exampleOf(value: unknown): string {
  const short = typeof value === 'string' ? value.slice(0, 10 * EXAMPLE_CHARACTERS_MAX) : value;
  return cut(toExactJson(short ?? null), EXAMPLE_CHARACTERS_MAX);
}

/** What JSON calls a value: object, array, string, number, boolean or null. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof ExactNumber) return 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}
