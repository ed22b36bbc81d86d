import { readFile } from 'node:fs/promises';
import { isRecord } from '../base/json.ts';

/** The process that has a warehouse open for writing, or that was killed while it had. */
export interface Writer {
  readonly pid: number;
  readonly command: string;
  readonly since: string;
}

/** Reads the record of a warehouse's writer (`owner.json`); null if there is none or it is damaged. */
export async function readWriter(path: string): Promise<Writer | null> {
  try {
    const writer: unknown = JSON.parse(await readFile(path, 'utf8'));
    // A process ID of 0 or less addresses a group of processes, of which some always exist.
    if (!isRecord(writer) || !Number.isSafeInteger(writer['pid']) || Number(writer['pid']) <= 0) return null;
    const { pid, command, since } = writer;
    return { pid: Number(pid), command: String(command), since: String(since) };
  } catch {
    return null;
  }
}
