import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { DatabaseAddress } from '../../base/config/budget-settings.ts';
import { LOG_TABLE, openBudgetDatabase } from './budget-database.ts';
import { ANY_LOG } from './file-store.ts';
import { type BudgetRecord, parseImplausibleRecord, VALUE_BOUNDS } from './send-record.ts';

/** Maximum number of examples returned. */
const EXAMPLES_MAX = 3;

/** Records of budget logs with implausible values, which all readers ignore. */
export interface ImplausibleRecords {
  readonly count: number;
  /** Examples, such as `limit 999999999 (allowed: 1 to 10000)`. */
  readonly examples: readonly string[];
}

/**
 * Finds the implausible records in the budget files of a folder. With `drop`, overwrites each with spaces. The length of the
 * file does not change, so processes that have it open continue at the right position.
 */
export function checkBudgetFiles(folder: string, drop: boolean): ImplausibleRecords {
  const examples: string[] = [];
  let count = 0;
  for (const entry of listFolder(folder).filter((name) => ANY_LOG.test(name))) {
    const path = join(folder, entry);
    let offset = 0;
    for (const line of readFileSync(path, 'latin1').split('\n')) {
      const record = parseImplausibleRecord(line);
      if (record !== null) {
        count += 1;
        if (examples.length < EXAMPLES_MAX) examples.push(describe(record));
        if (drop) overwrite(path, offset, line.length);
      }
      offset += line.length + 1;
    }
  }
  return { count, examples };
}

/**
 * Finds the implausible records of all budgets in a database and, with `drop`, deletes them.
 * @throws `config_invalid` if the package pg is not installed
 * @throws `budget_unreachable`
 */
export async function checkBudgetRows(
  address: DatabaseAddress,
  clock: Clock,
  drop: boolean,
): Promise<ImplausibleRecords> {
  const database = await openBudgetDatabase(address, clock);
  const bounds = Object.entries(VALUE_BOUNDS).map(
    ([kind, [min, max]]) => `(kind = '${kind}' AND value NOT BETWEEN ${min} AND ${max})`,
  );
  const text = `${drop ? 'DELETE' : 'SELECT kind, value'} FROM ${LOG_TABLE} WHERE ${bounds.join(' OR ')}
    ${drop ? 'RETURNING kind, value' : ''}`;
  try {
    const { rows } = await database.query({ text });
    const examples = rows
      .slice(0, EXAMPLES_MAX)
      .map(({ kind, value }) => describe({ kind: kind as BudgetRecord['kind'], value: Number(value) }));
    return { count: rows.length, examples };
  } finally {
    await database.close();
  }
}

function describe({ kind, value }: Pick<BudgetRecord, 'kind' | 'value'>): string {
  const [min, max] = VALUE_BOUNDS[kind];
  return `${kind} ${value} (allowed: ${min === max ? min : `${min} to ${max}`})`;
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}

function overwrite(path: string, offset: number, length: number): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, ' '.repeat(length), offset, 'latin1');
  } finally {
    closeSync(file);
  }
}
