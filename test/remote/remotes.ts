import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { S3Target } from '../../src/base/config/publish-settings.ts';
import { createLocalRemote } from '../../src/remote/local-remote.ts';
import type { LeaseTiming } from '../../src/remote/remote-lease.ts';
import { createStoreRemote } from '../../src/remote/remote-store.ts';
import type { CheckedOut, Holder, Remote } from '../../src/remote/remote.ts';
import { type Layout, layoutOf } from '../../src/snapshot/layout.ts';
import { HOUSING, type ObjectStore } from '../../src/storage/object-store.ts';
import { openS3Store } from '../../src/storage/s3-store.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { openStore, targetOf } from '../lake/publishing-places.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';

/** The kept files of these tests. */
export const KEPT = { files: ['jobs.json'], folders: ['raw'] } as const;

/** A machine with a data folder of its own, except if the folder itself is the place that keeps the data. */
export interface Machine {
  readonly layout: Layout;
  readonly folder: string;
  readonly remote: Remote;
  checkOut(via?: string | null): Promise<CheckedOut>;
}

/** A place that keeps the data of one workspace. */
export interface HomePlace {
  readonly name: string;
  machine(timing?: LeaseTiming): Promise<Machine>;
}

async function folderFor(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-home-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function machineIn(folder: string, remote: Remote): Machine {
  const { signal } = new AbortController();
  const checkOut = (via: string | null = null): Promise<CheckedOut> => {
    const holder: Holder = { name: `the test in ${folder}`, via };
    return remote.checkOut(holder, signal);
  };
  onTestFinished(() => remote.close());
  return { folder, layout: layoutOf(folder), remote, checkOut };
}

/** Opens a folder that keeps the data itself; all machines share it. */
export async function openLocalPlace(): Promise<HomePlace> {
  const folder = await folderFor();
  return { name: 'a folder', machine: async () => machineIn(folder, createLocalRemote(layoutOf(folder))) };
}

/** A remote warehouse in a bucket of a test server that can inject faults. */
export interface StorePlace extends HomePlace {
  readonly server: S3Server;
  /** Returns the content of home.json. */
  record(): Record<string, unknown> & { epoch: number; journal: unknown[]; base: { key: string } | null };
  keys(prefix: string): string[];
  /** Makes the current lease expire. */
  letClaimRunOut(): void;
  store(): Promise<ObjectStore>;
}

/** Opens a remote warehouse in a real object store, without injected faults. */
export function openPlaceAt(endpoint: string, workspace: string): HomePlace {
  const { machine } = placeIn(targetOf(endpoint, 'lake'), `${workspace}/home`);
  return { name: 'Ceph', machine };
}

/** Starts a test server with a remote warehouse. */
export async function openStorePlace(): Promise<StorePlace> {
  const server = await startS3Server();
  onTestFinished(() => server.close());
  const folder = 'workspace/home';
  const base = `of/tests/${folder}/`;
  const { machine, openRemoteStore } = placeIn(targetOf(server.endpoint, server.bucket), folder);
  return {
    name: 'a bucket',
    server,
    machine,
    record: () => JSON.parse(server.objects.get(`${base}home.json`)?.body.toString() ?? 'null'),
    keys: (prefix) =>
      [...server.objects.keys()].filter((key) => key.startsWith(base + prefix)).map((key) => key.slice(base.length)),
    letClaimRunOut: () => {
      const found = server.objects.get(`${base}home.json`);
      if (found === undefined) return;
      server.objects.set(`${base}home.json`, { ...found, modified: new Date(Date.now() - 60_000) });
    },
    store: () => openRemoteStore(new AbortController().signal),
  };
}

function placeIn(target: S3Target, folder: string) {
  // From here on the environment contains the keys that sign requests.
  const openRemoteStore = async (signal: AbortSignal): Promise<ObjectStore> => {
    (await openStore(target, folder)).close();
    return openS3Store(target, { folder, signal, use: HOUSING });
  };
  const machine = async (timing?: LeaseTiming): Promise<Machine> => {
    const at = await folderFor();
    const parts = { layout: layoutOf(at), kept: KEPT, clock: systemClock, open: openRemoteStore };
    return machineIn(at, await createStoreRemote({ ...parts, ...(timing === undefined ? {} : { timing }) }));
  };
  return { machine, openRemoteStore };
}

/** An open warehouse that is followed by the journal of its check-out. */
export interface Working {
  readonly database: Database;
  /** Runs statements in one transaction. */
  commit(...statements: readonly string[]): Promise<void>;
  /** Closes it like a step of a job. */
  close(): Promise<void>;
}

/** Opens the warehouse of a machine that has checked it out. */
export async function work({ layout }: Machine, { journal }: CheckedOut): Promise<Working> {
  const database = await openDatabase(layout.warehouse, { keepsLog: journal !== null, memoryLimitMb: 256 });
  const leave = journal?.follow({
    alone: (then) => database.exclusive((session) => then(async () => void (await session.run('CHECKPOINT')))),
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await leave?.();
    await database.close();
  };
  onTestFinished(close);
  return {
    database,
    commit: (...statements) =>
      database.transaction(async (session) => {
        for (const statement of statements) await session.run(statement);
      }),
    close,
  };
}

/** Runs a query on a file that is not open elsewhere. */
export async function rowsOf(path: string, sql: string): Promise<unknown[][]> {
  const database = await openDatabase(path, { keepsLog: true });
  try {
    return await database.exclusive((session) => session.query(sql));
  } finally {
    await database.close();
  }
}
