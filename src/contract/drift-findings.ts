import { hideKeys } from '../base/errors.ts';
import { ExactNumber, toExactJson } from '../base/json.ts';
import type { Resource } from './catalogue.ts';

/** Kinds of difference between a response and its declaration or earlier responses. */
export type DriftKind =
  | 'unknown_field'
  | 'vanished_field'
  | 'changed_type'
  | 'new_value'
  | 'implausible_value'
  /** A query parameter in upstream's OpenAPI document that is not declared. */
  | 'new_parameter'
  /** An endpoint in upstream's OpenAPI document that no declaration covers. */
  | 'new_endpoint';

/** A difference found in a page, with the number of items that show it. */
export interface Finding {
  /** Table of the items; null for the envelope. */
  readonly table: string | null;
  /** Path of the field; names of nested fields are joined with dots. */
  readonly path: string;
  readonly kind: DriftKind;
  /** Expected and received type, or the new value; null if the path is sufficient. */
  readonly detail: string | null;
  count: number;
  /** JSON of one example value, truncated, with API keys removed. */
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

/** A fact learned from responses. It is stored across runs, so that new values and vanished fields are detected. */
export interface Knowledge {
  readonly table: string | null;
  readonly path: string;
  /**
   * `value`: a label was seen. `present`, `optional`: a field is in all or in some objects. `many`: a field has too many
   * values to watch. `settled`: learning has ended, so a value that was not seen before is a finding.
   */
  readonly kind: 'value' | 'present' | 'optional' | 'many' | 'settled';
  readonly value: string | null;
}

/** State shared by the shapes of one resource. */
export interface ShapeContext {
  readonly resource: Resource;
  readonly knowledge: readonly Knowledge[];
  readonly learned: Knowledge[];
  readonly findings: Findings;
}

/** Maximum distinct findings per page, in case upstream generates field names. */
const FINDINGS_MAX = 200;
const NAME_CHARACTERS_MAX = 120;
const EXAMPLE_CHARACTERS_MAX = 200;
/** Kinds whose findings are identified by their path alone. */
export const BY_PATH: readonly DriftKind[] = ['unknown_field', 'vanished_field', 'new_parameter', 'new_endpoint'];

/** Creates an empty collection of findings. */
export function createFindings(): Findings {
  let found = new Map<string, Finding>();
  return {
    add: (table, path, kind, detail, example, count = 1) => {
      // Keyed by the raw texts, so that a repeated finding costs one lookup and no truncation.
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

/** Returns equal text for equal findings. Fields, parameters and endpoints are identified by their path alone. */
export function identityOf({ table, path, kind, detail }: Pick<Finding, 'table' | 'path' | 'kind' | 'detail'>): string {
  const isByPath = BY_PATH.includes(kind);
  return JSON.stringify([table, path, kind, isByPath ? null : detail]);
}

/** Removes API keys, truncates the text to `charactersMax` characters and makes it well-formed Unicode. */
export function cut(text: string, charactersMax: number): string {
  // Remove keys before truncating: a truncated key would not be recognized.
  const safe = hideKeys(text);
  return (safe.length > charactersMax ? `${safe.slice(0, charactersMax - 1)}…` : safe).toWellFormed();
}

// Truncate long strings before writing JSON, because a page may contain very large values.
function exampleOf(value: unknown): string {
  const short = typeof value === 'string' ? value.slice(0, 10 * EXAMPLE_CHARACTERS_MAX) : value;
  return cut(toExactJson(short ?? null), EXAMPLE_CHARACTERS_MAX);
}

/** Returns the JSON type of a value: object, array, string, number, boolean or null. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof ExactNumber) return 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}
