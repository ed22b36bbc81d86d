import { readFile, writeFile } from 'node:fs/promises';
import { hostname, uptime } from 'node:os';
import { isRecord } from '../base/json.ts';
import { isAlive } from '../base/process-alive.ts';

/** The process that has a warehouse open for writing, or that was killed while it had. */
export interface Writer {
  readonly pid: number;
  readonly command: string;
  readonly since: string;
  /** Name of its machine or container. */
  readonly host: string;
}

/** Reads the record of a warehouse's writer (`owner.json`); null if there is none or it is damaged. */
export async function readWriter(path: string): Promise<Writer | null> {
  try {
    const writer: unknown = JSON.parse(await readFile(path, 'utf8'));
    // A process ID of 0 or less addresses a group of processes, of which some always exist.
    if (!isRecord(writer) || !Number.isSafeInteger(writer['pid']) || Number(writer['pid']) <= 0) return null;
    const { pid, command, since, host } = writer;
    return { pid: Number(pid), command: String(command), since: String(since), host: String(host) };
  } catch {
    return null;
  }
}

/** Records this process as the writer of a warehouse. */
export function writeWriter(path: string, command: string, nowMs: number): Promise<void> {
  const since = new Date(nowMs).toISOString();
  const record: Writer = { pid: process.pid, command: `sightline ${command}`, since, host: hostname() };
  return writeFile(path, `${JSON.stringify(record)}\n`);
}

/**
 * Whether a recorded writer still runs. After a restart of the machine, and in another container, its process ID may belong to
 * another process.
 */
export function isWriting({ pid, since, host }: Writer): boolean {
  if (host !== hostname()) return false;
  const startedMs = Date.now() - uptime() * 1000;
  return Date.parse(since) >= startedMs && isAlive(pid);
}
