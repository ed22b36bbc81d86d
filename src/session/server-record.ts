import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRecord } from '../base/json.ts';
import { isWriting, readWriter } from './writer-record.ts';

/** Returns the path of the record of the server that accepts the sign-in links of a folder. */
export function serverRecordPath(folder: string): string {
  return join(folder, 'server.json');
}

/** Records the origin of this process's server, such as `http://127.0.0.1:4000`. Returns the function that removes the record. */
export async function writeServerRecord(
  folder: string,
  origin: string,
  command: string,
  nowMs: number,
): Promise<() => Promise<void>> {
  const path = serverRecordPath(folder);
  const since = new Date(nowMs).toISOString();
  const text = `${JSON.stringify({ pid: process.pid, command: `sightline ${command}`, since, host: hostname(), origin })}\n`;
  const aside = `${path}.${randomUUID()}`;
  await writeFile(aside, text, { mode: 0o600 });
  await rename(aside, path);
  return async () => {
    // A later server may have replaced it.
    if ((await readFile(path, 'utf8').catch(() => null)) === text) await rm(path, { force: true });
  };
}

/** Returns the origin of the server that runs with a folder; null if none does. */
export async function readServerOrigin(folder: string): Promise<string | null> {
  const path = serverRecordPath(folder);
  const server = await readWriter(path);
  if (server === null || !isWriting(server)) return null;
  const record: unknown = JSON.parse(await readFile(path, 'utf8').catch(() => 'null'));
  return isRecord(record) && typeof record['origin'] === 'string' ? record['origin'] : null;
}
