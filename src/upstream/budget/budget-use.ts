import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { logName } from './file-store.ts';
import { createLedger } from './send-ledger.ts';
import { parseRecord } from './send-record.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Use of a key's budget by all processes of this machine. */
export interface BudgetUse {
  /** Requests per minute: upstream's limit, and the part of it that sightline may use. */
  readonly limit: number;
  readonly capacity: number;
  /** Requests that ended in the last 60 seconds, and in the last hour (less if the log is shorter). */
  readonly lastMinute: number;
  readonly lastHour: number;
}

/** Identifies a budget. */
export interface BudgetUseOptions {
  /** Folder of all logs of the installation. */
  readonly folder: string;
  readonly key: string;
  readonly share: number;
  readonly clock: Clock;
}

/** Reads the use of a budget from its log without adding to it; null if there is no log. */
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
      // Records after a seal do not count.
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
