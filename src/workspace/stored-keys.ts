import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { quotedArgument } from '../base/visible.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { changePrivateFile, type PrivateFile, readPrivateFile } from './private-file.ts';

/** Rights that a key can have. */
export const SCOPES = ['read', 'metrics', 'sql', 'snapshots'] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes of keys that are created without scopes. */
export const DEFAULT_SCOPES: readonly Scope[] = ['read', 'metrics', 'snapshots'];

const secretBytes = 32;
const base64url256 = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);
const keySchema = z.strictObject({
  id: z.guid(),
  name: z.string().min(1),
  prefix: z.string(),
  hash: hashSchema,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  scopes: z.array(z.enum(SCOPES)),
  /** Ids or exact names of the brands that the key can read; null for all. */
  brands: z.array(z.string().min(1)).min(1).nullable().default(null),
  /** Workspaces that the key opens. Required in the file of the data folder; null for the workspace of the file. */
  workspaces: z
    .union([z.literal('all'), z.array(z.string().min(1)).min(1)])
    .nullable()
    .default(null),
});
const fileSchema = z.strictObject({
  version: z.literal(1),
  cursorSecret: base64url256,
  keys: z.array(keySchema),
  /** Hashes of revoked keys, oldest first. */
  revoked: z.array(hashSchema).optional(),
});

/** Contents of the key file. Keys are stored only as hashes. */
export type KeyFile = ValueOf<typeof fileSchema>;

/** A stored key: its SHA-256 in hex, never its text. */
export type StoredKey = KeyFile['keys'][number];

/** Returns the path of the key file of a folder: a workspace, or the data folder, which has the keys of several workspaces. */
export function keyFilePath(folder: string): string {
  return join(folder, 'keys.json');
}

/**
 * Reads the key file of a folder; null if it does not exist.
 *
 * @throws SightlineError `config_invalid` if the file is damaged or cannot be read
 */
export function readKeyFile(folder: string): KeyFile | null {
  return readPrivateFile(keyFile(folder));
}

/**
 * Changes the keys of a folder atomically across processes: `after` replaces the file by rename, and null leaves it
 * unchanged.
 *
 * @throws SightlineError `warehouse_locked` if another process keeps the lock; also whatever `change` throws
 */
export async function changeKeyFile<T>(
  folder: string,
  change: (before: KeyFile) => { readonly after: KeyFile | null; readonly result: T },
): Promise<T> {
  return changePrivateFile(keyFile(folder), change);
}

function keyFile(folder: string): PrivateFile<KeyFile> {
  const path = keyFilePath(folder);
  const file = quotedArgument(path);
  return {
    path,
    schema: fileSchema,
    work: 'is changing the keys',
    create: () => ({ version: 1, cursorSecret: randomBytes(secretBytes).toString('base64url'), keys: [] }),
    advice: `run \`mv ${file} ${file}.damaged\`, then create new keys with \`sightline keys create NAME\``,
  };
}
