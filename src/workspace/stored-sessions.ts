import { join } from 'node:path';
import { z } from 'zod';
import { changePrivateFile, type PrivateFile, readPrivateFile } from './private-file.ts';

const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);
const linkSchema = z.strictObject({ hash: hashSchema, expiresAt: z.iso.datetime() });
const sessionSchema = z.strictObject({
  id: z.guid(),
  hash: hashSchema,
  createdAt: z.iso.datetime(),
  usedAt: z.iso.datetime(),
  userAgent: z.string(),
  /** Id of the key that opened the session; null for a sign-in link, which has all rights. */
  keyId: z.guid().nullable(),
});
const fileSchema = z.strictObject({
  version: z.literal(1),
  /** Unused sign-in links, oldest first. */
  links: z.array(linkSchema),
  /** Oldest first. */
  sessions: z.array(sessionSchema),
});

/** Contents of the session file. Tokens are stored only as hashes. */
export type SessionFile = z.infer<typeof fileSchema>;

/** A stored browser session; times are ISO 8601 in UTC. */
export type StoredSession = SessionFile['sessions'][number];

/** Returns the path of the session file of a folder: that of a workspace, or the data folder for all workspaces. */
export function sessionFilePath(folder: string): string {
  return join(folder, 'sessions.json');
}

/**
 * Reads the session file of a folder; null if it does not exist.
 *
 * @throws SightlineError `config_invalid` if the file is damaged or cannot be read
 */
export function readSessionFile(folder: string): SessionFile | null {
  return readPrivateFile(sessionFile(folder));
}

/** Changes the sessions of a folder atomically across processes. A damaged file is replaced, which ends all sessions. */
export async function changeSessionFile<T>(
  folder: string,
  change: (before: SessionFile) => { readonly after: SessionFile | null; readonly result: T },
): Promise<T> {
  return changePrivateFile(sessionFile(folder), change);
}

function sessionFile(folder: string): PrivateFile<SessionFile> {
  return {
    path: sessionFilePath(folder),
    schema: fileSchema,
    work: 'is changing the sessions',
    create: () => ({ version: 1, links: [], sessions: [] }),
    advice: null,
  };
}
