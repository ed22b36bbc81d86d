import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Pool } from 'undici';

/** What a process has used. */
export interface Usage {
  /** CPU time in seconds, of all its threads. */
  readonly cpu: number;
  /** Peak resident size in MB. */
  readonly peakMb: number;
}

/** What a part of the benchmark prints, and its figures as numbers. */
export interface Part<Figures = unknown> {
  readonly lines: readonly string[];
  readonly figures: Figures;
}

const SAMPLE_MS = 50;
/** Clock ticks per second in /proc, the same on all Linux machines. */
const TICKS = 100;

/** Returns what a running process has used so far, and its resident size, from Linux's /proc; zeros once it has ended. */
export async function usageOf({ pid }: Pick<ChildProcess, 'pid'>): Promise<Usage & { readonly residentMb: number }> {
  const [stat, status] = await Promise.all(
    ['stat', 'status'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
  );
  // The name of the program, in parentheses, may contain spaces.
  const fields = (stat ?? '').slice((stat ?? '').lastIndexOf(')') + 2).split(' ');
  const cpu = (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS;
  const megabytes = (pattern: RegExp): number => Number(pattern.exec(status ?? '')?.[1] ?? 0) / 1000;
  return { cpu, peakMb: megabytes(/VmHWM:\s+(\d+)/), residentMb: megabytes(/VmRSS:\s+(\d+)/) };
}

/** Waits for a process, and returns what it printed and used. @throws if it fails */
export async function finish(
  child: ChildProcess,
  sampleMs = SAMPLE_MS,
): Promise<Usage & { readonly output: string; readonly seconds: number }> {
  const startedAt = performance.now();
  let used: Usage = { cpu: 0, peakMb: 0 };
  const sampler = setInterval(() => {
    void usageOf(child).then(({ cpu, peakMb }) => {
      used = { cpu: Math.max(used.cpu, cpu), peakMb: Math.max(used.peakMb, peakMb) };
    });
  }, sampleMs);
  let output = '';
  let errors = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  clearInterval(sampler);
  const seconds = (performance.now() - startedAt) / 1000;
  if (code !== 0)
    throw new Error(`${child.spawnargs.slice(0, 3).join(' ')} ended with ${code}: ${(errors || output).slice(-800)}`);
  return { ...used, output, seconds };
}

/** The value below which a share of the numbers are. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

/** Rate and latencies of requests. */
export interface Measured {
  /** Requests per second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const WARM_UP_MS = 500;

/** Measures requests of some clients, each with one in flight, for `ms`. */
export async function measureRequests(
  origin: string,
  { clients, ms }: { clients: number; ms: number },
  ask: (pool: Pool) => Promise<void>,
): Promise<Measured> {
  const pool = new Pool(origin, { connections: clients });
  const waits: number[] = [];
  const startedAt = performance.now();
  const client = async (): Promise<void> => {
    for (let elapsed = 0; elapsed < ms + WARM_UP_MS; elapsed = performance.now() - startedAt) {
      const sentAt = performance.now();
      await ask(pool);
      if (elapsed > WARM_UP_MS) waits.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - startedAt - WARM_UP_MS) / 1000;
  await pool.close();
  return { rate: waits.length / seconds, p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) };
}

/** The median of some numbers, and how far the others are from it: `1.52 (1.41 to 1.60)`. */
export function withSpread(values: readonly number[], digits = 2): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): string => (sorted.at(index) ?? Number.NaN).toFixed(digits);
  return sorted.length < 2 ? at(0) : `${at(sorted.length >> 1)} (${at(0)} to ${at(-1)})`;
}
