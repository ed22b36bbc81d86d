import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import type { Implausible } from '../contract/implausible.ts';
import type { Attempt } from '../contract/request.ts';
import { dayOf } from '../contract/time.ts';
import { writeDrift } from '../warehouse/ledger/drift-notes.ts';
import { forgetRawPages, type RawLocation, readCommitted } from '../warehouse/ledger/raw-pages.ts';
import type { RunRef } from '../warehouse/ledger/runs.ts';
import type { PageCommit, Warehouse } from '../warehouse/warehouse.ts';
import { type DriftCounts, openDriftWatch } from './drift-watch.ts';
import { walkMembers } from './raw/raw-format.ts';
import { listRawFiles, openRawLog, type RawLimits, type RawLog, retainRawFiles } from './raw/raw-log.ts';
import { describeRecord, type RawRecord } from './raw/raw-record.ts';
import type { Trouble } from './sync-stats.ts';

/** Records of a sync besides its rows: raw pages and drift. */
export interface Recorder {
  /** The warehouse to use for the sync; pages committed through it are archived and watched for drift. */
  readonly warehouse: Warehouse;
  /** Returns the drift counts since the last call. */
  takeDrift(): DriftCounts;
  /** Returns the warnings for the user since the last call. */
  takeWarnings(): Trouble[];
  /** Closes the files and removes expired ones. */
  close(): Promise<void>;
}

/** Options of `openRecorder`. */
export interface RecorderOptions {
  readonly catalogue: Catalogue;
  readonly warehouse: Warehouse;
  readonly clock: Clock;
  /** Folder of raw pages and its limits; null disables archiving. */
  readonly raw: {
    readonly folder: string;
    readonly limits: RawLimits;
    /** Removes all expired files, not only those of the oldest day. */
    readonly removesExpired?: boolean;
  } | null;
}

/** Number of latest files that may contain uncommitted pages of a killed run. */
const FILES_LOOKED_AT = 2;

/**
 * Wraps a warehouse so that every page is archived on disk before it is committed, and its drift is committed with it.
 * A full disk ends the sync. After any other write error the sync adds a warning and continues without archiving.
 */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const { catalogue, warehouse: inner, clock } = options;
  const warnings: Trouble[] = [];
  const isOff = options.raw === null || options.raw.limits.days === 0 || options.raw.limits.megabytes === 0;
  const keeper = await openKeeper(isOff ? null : options.raw, inner, { clock, warnings });
  const watch = await openDriftWatch(catalogue, inner);
  let lastRun: string | null = null;

  const commitPage = async (page: PageCommit) => {
    const { arrival, chain, date, run } = page;
    lastRun = run.runId;
    if (arrival === undefined) return inner.commitPage(page);
    const all = page.tables.flatMap((table) => table.rejected);
    const rejected = all.filter((item) => item.implausible === undefined);
    const implausible = [...implausibleIn(page.requests), ...all.flatMap((item) => item.implausible ?? [])];
    const raw = page.notes?.raw ?? (await keeper.keep(pageRecord(page, arrival), arrival.bytes));
    // Detect drift after the disk write, so that drift is detected in commit order.
    const drift = watch.look(chain.resource, arrival.body, rejected, implausible, date);
    try {
      return await inner.commitPage({ ...page, notes: { raw, drift } });
    } catch (thrown) {
      if (raw !== null) await keeper.disown(raw, date);
      throw thrown;
    }
  };
  const noteImplausible: Warehouse['noteImplausible'] = async (run, resource, implausible, at) => {
    const drift = watch.note(resource, implausible, at);
    if (drift === null) return;
    await inner.database.transaction((session) => writeDrift(session, run.runId, drift, at));
  };
  const warehouse: Warehouse = {
    ...inner,
    commitPage,
    beginRun: async (run) => {
      const begun = await inner.beginRun(run);
      await keeper.keep({ kind: 'begin', ...refOf(begun), options: run.options, date: run.now });
      return begun;
    },
    endRun: async (run, totals, now) => {
      await inner.endRun(run, totals, now);
      await watch.close(run.runId, totals.status === 'complete', now);
      await keeper.keep({ kind: 'end', ...refOf(run), totals: { ...totals }, date: now });
    },
    noteRequests: async (run, chain, requests) => {
      await inner.noteRequests(run, chain, requests);
      await noteImplausible(run, chain.resource, implausibleIn(requests), clock.now());
    },
    noteImplausible,
    noteForms: async (resource, forms) => {
      await keeper.keep({ kind: 'forms', resource, forms: Object.fromEntries(forms), date: clock.now() });
      return inner.noteForms(resource, forms);
    },
  };
  const close = async (): Promise<void> => {
    if (lastRun !== null) await watch.close(lastRun, false, clock.now());
    await keeper.close();
  };
  return { warehouse, takeDrift: watch.takeCounts, takeWarnings: () => warnings.splice(0), close };
}

interface Keeper {
  /** Archives a record; returns its position, or null if archiving is off. */
  keep(record: RawRecord, body?: Uint8Array): Promise<RawLocation | null>;
  /** Records that an archived page was not committed. */
  disown(place: RawLocation, date: number): Promise<void>;
  close(): Promise<void>;
}

async function openKeeper(
  raw: RecorderOptions['raw'],
  warehouse: Warehouse,
  { clock, warnings }: { readonly clock: Clock; readonly warnings: Trouble[] },
): Promise<Keeper> {
  let log: RawLog | null = null;
  let uncommitted: RawRecord[] = [];
  const giveUp = (thrown: unknown): null => {
    const { code, message } = toSightlineError(thrown);
    if (code === 'disk_full') throw new SightlineError(code, message, { cause: thrown });
    warnings.push({ chain: 'raw pages', code, message: `raw pages are not archived: ${message}` });
    log = null;
    return null;
  };
  if (raw !== null) {
    try {
      // A new file may get the name of one that is missing, whose rows must be gone by then.
      const files = await listRawFiles(raw.folder);
      await forgetRawPages(
        warehouse.database,
        files.map(({ name }) => name),
      );
      uncommitted = await findUncommitted(raw.folder, warehouse);
      log = await openRawLog(raw.folder, raw.limits);
    } catch (thrown) {
      giveUp(thrown);
    }
  }
  const append = async (record: RawRecord, body: Uint8Array | null): Promise<RawLocation | null> => {
    if (log === null) return null;
    try {
      // Use this machine's clock: a wrong Date header must not decide when a file expires.
      return await log.append(dayOf(clock.now()), describeRecord(record), record, body);
    } catch (thrown) {
      return giveUp(thrown);
    }
  };
  return {
    keep: async (record, body) => {
      for (const earlier of uncommitted.splice(0)) await append({ ...earlier, date: record.date }, null);
      return append(record, body ?? null);
    },
    disown: async ({ file, position }, date) => {
      await append({ kind: 'void', file, position, date }, null).catch(() => undefined);
    },
    close: async () => {
      if (raw === null) return;
      try {
        await log?.close();
        log = null;
        const today = dayOf(clock.now());
        const { kept, expiredDays } = await retainRawFiles(raw.folder, raw.limits, {
          today,
          removesAll: raw.removesExpired === true,
        });
        await forgetRawPages(warehouse.database, kept);
        if (expiredDays > 0) warnings.push(expiredLeft(expiredDays, today));
      } catch (thrown) {
        giveUp(thrown);
      }
    },
  };
}

function expiredLeft(days: number, today: string): Trouble {
  const message =
    `raw pages of ${days} more ${days === 1 ? 'day' : 'days'} have expired by this machine's clock (${today}); one day is removed per run ` +
    'in case the clock is wrong. If the clock is right, run `sightline sync --accept-expiry` to remove all of them';
  return { chain: 'raw pages', code: 'expired', message };
}

// Finds pages that a killed run archived but did not commit. A warehouse without any committed page of a file did not
// write that file, so its pages are skipped.
async function findUncommitted(folder: string, { database }: Warehouse): Promise<RawRecord[]> {
  const found: RawRecord[] = [];
  const files = (await listRawFiles(folder)).slice(-FILES_LOOKED_AT);
  const pages: { run: string; file: string; position: number }[] = [];
  const ended = new Set<string>();
  for (const { name } of files) {
    const handle = await open(join(folder, name));
    try {
      for await (const member of walkMembers(handle)) {
        if (!('comment' in member)) continue;
        const run = / run (\S+)$/.exec(member.comment)?.[1] ?? '';
        if (member.comment.startsWith('page ')) pages.push({ run, file: name, position: member.position });
        if (member.comment.startsWith('end ')) ended.add(run);
      }
    } finally {
      await handle.close();
    }
  }
  for (const { name } of files) {
    const committed = await readCommitted(database, name);
    for (const { run, file, position } of committed.size === 0 ? [] : pages) {
      if (file !== name || ended.has(run) || committed.has(position)) continue;
      found.push({ kind: 'void', file, position, date: 0 });
    }
  }
  return found;
}

function implausibleIn(requests: readonly Attempt[]): Implausible[] {
  return requests.flatMap(({ implausible = [] }) => implausible);
}

function pageRecord(page: PageCommit, arrival: NonNullable<PageCommit['arrival']>): RawRecord {
  const { run, chain, next, date } = page;
  const { member, path, query } = arrival;
  return {
    kind: 'page',
    ...refOf(run),
    resource: chain.resource,
    chain: chain.id,
    fixed: plain(chain.fixed),
    from: chain.from,
    to: chain.to,
    member,
    path,
    query: { ...query },
    page: page.page,
    next,
    ...(page.untilKnown === undefined ? {} : { untilKnown: page.untilKnown }),
    ...(page.guard === null || page.next !== null
      ? {}
      : { guard: { counts: page.guard.counts, keep: page.guard.keep } }),
    date,
  };
}

function refOf({ runId, passId }: RunRef) {
  return { runId, passId };
}

// Values set by a request are text; a key may be a number or null.
function plain(values: Readonly<Record<string, unknown>>): Record<string, string | number | boolean | null> {
  return values as Record<string, string | number | boolean | null>;
}
