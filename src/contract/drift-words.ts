import type { Knowledge, ShapeContext } from './drift-findings.ts';

/** The values of one field that has few. */
export interface Words {
  /** Learns a value, or finds it new. */
  see(value: string): void;
  /** Learns a value while that goes on; returns whether it is one of those known. */
  learn(value: string): boolean;
  /** Ends the learning once there is a value, or `anyway`. */
  settle(anyway?: boolean): void;
  isSettled(): boolean;
  size(): number;
}

/** A field with more values than this, or with a longer one, is no label. */
const WORDS_MAX = 50;
const WORD_CHARACTERS_MAX = 64;

/** The words of a field, with those that are known of it; where the specification gives them, these are settled. */
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
