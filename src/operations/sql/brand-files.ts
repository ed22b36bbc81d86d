import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { SightlineError } from '../../base/errors.ts';
import { type BrandTables, copyBrands, fileIdentity } from '../../warehouse/file/brand-copy.ts';

/** A file with the rows of some brands. */
interface BrandFile {
  readonly path: string;
  /** Identity of the replica that it was copied from. */
  readonly identity: string;
}

/** Files with the rows of some brands only, because no filter inside a query is as safe as missing rows. */
export interface BrandFiles {
  /** Returns the file of these brands; copies it if there is none, or if the replica was replaced. */
  take(brands: readonly string[]): Promise<BrandFile>;
  /** Removes the files of all other sets of brands, and replaced files. `keys` are keys of `keyOf`. */
  keep(keys: readonly string[]): Promise<void>;
  /** Waits for the current copy, and removes all files. */
  close(): Promise<void>;
}

/** A file that is copied or complete. */
interface Entry {
  readonly of: string;
  readonly folder: Promise<string>;
  readonly file: Promise<BrandFile>;
  isDone: boolean;
}

/** Creates the files of a replica, in temporary folders of this user. One is copied at a time. */
export function createBrandFiles(replica: string, tables: BrandTables): BrandFiles {
  const copies = new PQueue({ concurrency: 1 });
  const current = new Map<string, Entry>();
  const replaced: Entry[] = [];
  const remove = async ({ folder }: Entry): Promise<void> => {
    await rm(await folder, { recursive: true, force: true });
  };
  const copy = (key: string, of: string, ids: readonly string[]): Entry => {
    const folder = mkdtemp(join(tmpdir(), 'sightline-brands-'));
    const file = copies.add(async () => {
      const path = join(await folder, 'analytics.duckdb');
      return { path, identity: await copyBrands(replica, path, { ...tables, ids, temporaryFolder: await folder }) };
    });
    const entry: Entry = { of, folder, file, isDone: false };
    file.then(
      () => {
        entry.isDone = true;
      },
      () => {
        if (current.get(key) === entry) current.delete(key);
        void remove(entry);
      },
    );
    return entry;
  };
  const take: BrandFiles['take'] = async (brands) => {
    const key = keyOf(brands);
    const of = await identityOf(replica);
    const known = current.get(key);
    if (known?.of === of) return known.file;
    if (known !== undefined) replaced.push(known);
    const entry = copy(key, of, brands);
    current.set(key, entry);
    return entry.file;
  };
  const keep: BrandFiles['keep'] = async (keys) => {
    // A file that is still being copied belongs to a query that has not begun.
    const others = [...current].filter(([key, { isDone }]) => isDone && !keys.includes(key));
    for (const [key] of others) current.delete(key);
    const old = replaced.filter(({ isDone }) => isDone);
    for (const entry of old) replaced.splice(replaced.indexOf(entry), 1);
    await Promise.all([...old, ...others.map(([, entry]) => entry)].map(remove));
  };
  const close = async (): Promise<void> => {
    await copies.onIdle();
    await Promise.all([...replaced.splice(0), ...current.values()].map(remove));
    current.clear();
  };
  return { take, keep, close };
}

/** Identifies a set of brands; null is all brands. */
export function keyOf(brands: readonly string[] | null): string {
  return JSON.stringify(brands === null ? null : [...new Set(brands)].sort());
}

/** Returns the identity of the replica. Throws `no_data` if there is none. */
export async function identityOf(path: string): Promise<string> {
  const identity = await fileIdentity(path);
  if (identity !== null) return identity;
  throw new SightlineError('no_data', 'no data published yet: the first sync has not finished');
}
