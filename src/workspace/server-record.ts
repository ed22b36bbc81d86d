import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRecord, isRunning, parseRecord } from '../base/file-lock.ts';

/** Returns the path of the record of the server that accepts the sign-in links of a folder. */
export function serverRecordPath(folder: string): string {
  return join(folder, 'server.json');
}

/** Records the origin of this process's server, such as `http://127.0.0.1:4000`. Returns the function that removes the record. */
export async function writeServerRecord(folder: string, origin: string, command: string): Promise<() => Promise<void>> {
  const path = serverRecordPath(folder);
  const text = createRecord(`sightline ${command}`, { origin });
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
  const record = parseRecord(await readFile(serverRecordPath(folder), 'utf8').catch(() => ''));
  if (record === null || !isRunning(record)) return null;
  return typeof record['origin'] === 'string' ? record['origin'] : null;
}
