import type { Knowledge, ShapeContext } from './drift-findings.ts';

/** Known values of a label field. */
export interface Words {
  /** Learns a value, or records it as a finding if learning has ended. */
  see(value: string): void;
  /** Learns a value unless learning has ended. Returns true if the value is known or was learned. */
  learn(value: string): boolean;
  /** Ends learning if at least one value was seen, or always with `anyway`. */
  settle(anyway?: boolean): void;
  isSettled(): boolean;
  size(): number;
}

/** A field with more values or a longer value is not treated as a label. */
const WORDS_MAX = 50;
const WORD_CHARACTERS_MAX = 64;

/** Creates the known values of a field from stored knowledge. Values declared by the specification are settled at once. */
export function createWords(
  { knowledge, learned, findings }: ShapeContext,
  table: string | null,
  path: string,
  declared: readonly string[],
): Words {
  const mine = knowledge.filter((item) => item.table === table && item.path === path);
  const values = new Set([
    ...declared,
    ...mine.flatMap(({ kind, value }) => (kind === 'value' ? [value as string] : [])),
  ]);
  const fresh = new Set<string>();
  let settled = declared.length > 0 || mine.some(({ kind }) => kind === 'settled');
  let many = mine.some(({ kind }) => kind === 'many');
  const note = (kind: Knowledge['kind'], value: string | null): void => {
    learned.push({ table, path, kind, value });
  };
  const tooMany = (): void => {
    many = true;
    values.clear();
    note('many', null);
  };
  const learn = (value: string): boolean => {
    if (many || values.has(value)) return true;
    if (settled) return false;
    if (values.size >= WORDS_MAX || value.length > WORD_CHARACTERS_MAX) tooMany();
    else {
      values.add(value);
      note('value', value);
    }
    return true;
  };
  return {
    learn,
    see: (value) => {
      if (learn(value)) return;
      fresh.add(value);
      if (fresh.size <= WORDS_MAX) findings.add(table, path, 'new_value', value, value);
      else {
        findings.add(table, path, 'new_value', `more than ${WORDS_MAX} new values`, value);
        tooMany();
      }
    },
    settle: (anyway = false) => {
      if (settled || many || (values.size === 0 && !anyway)) return;
      settled = true;
      note('settled', null);
    },
    isSettled: () => settled,
    size: () => values.size,
  };
}
