import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { logName } from './budget-file.ts';
import { createLedger } from './budget-ledger.ts';
import { parseRecord } from './budget-record.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What was used of a key's budget, by whichever processes of this machine. */
export interface BudgetUse {
  /** Requests a minute: what upstream allows, and what of it is used here. */
  readonly limit: number;
  readonly capacity: number;
  /** Requests that ended in the last 60 seconds, and in the last hour as far as the log goes back. */
  readonly lastMinute: number;
  readonly lastHour: number;
}

/** Whose budget. */
export interface BudgetUseOptions {
  /** Folder of all logs of the installation. */
  readonly folder: string;
  readonly key: string;
  readonly share: number;
  readonly clock: Clock;
}

/** Reads what was used of a budget out of its log, without taking part in it; null where there is none. */
export async function readBudgetUse({ folder, key, share, clock }: BudgetUseOptions): Promise<BudgetUse | null> {
  const name = logName(key);
  const entries = await readdir(folder).catch(() => []);
  const numbered = entries
    .filter((entry) => entry.startsWith(`${name}-`) && entry.endsWith('.log'))
    .sort((a, b) => numberOf(a) - numberOf(b));
  if (numbered.length === 0) return null;
  const ledger = createLedger(() => ({ monotonicMs: clock.monotonic(), wallMs: clock.now() }));
  const now = clock.now();
  let lastMinute = 0;
  let lastHour = 0;
  for (const entry of numbered) {
    const text = await readFile(join(folder, entry), 'latin1').catch(() => '');
    for (const line of text.split('\n')) {
      const record = parseRecord(line);
      // What stands behind a seal counts for nobody.
      if (record?.kind === 'seal') break;
      if (record === null) continue;
      ledger.apply(record);
      if (record.kind !== 'answer' && record.kind !== 'fail') continue;
      const ageMs = now - record.wallMs;
      if (ageMs <= MINUTE_MS) lastMinute += 1;
      if (ageMs <= HOUR_MS) lastHour += 1;
    }
  }
  const { limit, capacity } = ledger.state(share);
  return { limit, capacity, lastMinute, lastHour };
}

function numberOf(entry: string): number {
  return Number(/-(\d+)\.log$/.exec(entry)?.[1] ?? 0);
}
