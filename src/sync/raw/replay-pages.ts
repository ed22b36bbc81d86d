import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { BodyError } from '../../contract/body.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { dayOf } from '../../contract/time.ts';
import { parseBody } from '../../plausibility/page-work.ts';
import { FUTURE_MS_MAX } from '../../plausibility/run-clock.ts';
import type { RunRef, RunTotals } from '../../warehouse/ledger/runs.ts';
import { commitPage, type PageDestinations } from '../commit-page.ts';
import { createRowReaders, inconclusive, nextOf, readPage } from '../read-page.ts';
import type { TableStats } from '../sync-stats.ts';
import { type Gap, type Member, readMember, walkMembers } from './raw-format.ts';
import { listRawFiles, type RawFile } from './raw-log.ts';
import { type RawPageRecord, type RawRecord, toRawRecord } from './raw-record.ts';

/** Selection of the pages to replay. */
export interface ReplayOptions {
  /** First and last day, UTC, on which upstream sent the pages; null for no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Resources; null for all. */
  readonly only: ReadonlySet<string> | null;
  /** Whether to write runs too. False if the warehouse already contains them. */
  readonly runs: boolean;
}

/** Dependencies of a replay. */
export interface ReplayParts extends Pick<PageDestinations, 'warehouse' | 'drift'> {
  readonly catalogue: Catalogue;
  /** The folder of raw pages. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Aborted to stop between two pages. */
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, of: number) => void;
}

/** A page, or a part of a file, that could not be replayed. */
export interface Damage {
  readonly file: string;
  /** Offset in bytes from the start of the file. */
  readonly position: number;
  /** Description of the damaged page; null if unknown. */
  readonly page: string | null;
  readonly message: string;
}

/** Result of a replay. */
export interface ReplayResult {
  readonly files: number;
  readonly pages: number;
  /** Skipped pages: of other days or resources, never committed, or of a resource that no longer exists. */
  readonly skipped: number;
  readonly tables: Readonly<Record<string, TableStats>>;
  readonly quarantined: number;
  readonly damages: readonly Damage[];
}

interface Found {
  readonly file: string;
  readonly member: Member;
}

/** Limit of listed damages. */
const DAMAGES_MAX = 1000;

/**
 * Commits archived pages in the order of their arrival, through the same parsing and commit as a sync. Skips damaged
 * pages; a list with a missing page deletes no rows.
 * @throws errors of the warehouse, and the signal's reason
 */
export async function replayPages(parts: ReplayParts, options: ReplayOptions): Promise<ReplayResult> {
  const { folder, signal, onProgress } = parts;
  const damages: Damage[] = [];
  const files = await listRawFiles(folder);
  const { found, voided } = await findRecords(folder, files, damages);
  const apply = createApplier(parts, options);
  let done = 0;
  let skipped = 0;
  await inFiles(folder, found, async (handle, { file, member }) => {
    signal.throwIfAborted();
    onProgress?.(done, found.length);
    done += 1;
    const place = { file, position: member.position };
    if (voided.has(`${file} ${member.position}`)) skipped += 1;
    else {
      try {
        const { header, body } = await readMember(handle, member).catch(unreadable);
        const isApplied = await apply(toRecord(header), body, { ...place, bytes: member.bytes });
        if (!isApplied) skipped += 1;
      } catch (thrown) {
        if (!(thrown instanceof DamageError)) throw thrown;
        if (damages.length < DAMAGES_MAX) damages.push({ ...place, page: member.comment, message: thrown.message });
      }
    }
  });
  onProgress?.(found.length, found.length);
  return { files: files.length, skipped, damages, ...apply.result() };
}

class DamageError extends Error {}

function unreadable(thrown: unknown): never {
  throw new DamageError(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}

function toRecord(header: unknown): RawRecord {
  try {
    return toRawRecord(header);
  } catch (thrown) {
    return unreadable(thrown);
  }
}

// Reads the header of every record. A partial record at the end of a file is normal after a killed sync; its page was
// not committed.
async function findRecords(folder: string, files: readonly RawFile[], damages: Damage[]) {
  const found: Found[] = [];
  const voided = new Set<string>();
  const torn: { gap: Gap; file: string; last: Member | null }[] = [];
  for (const [index, { name: file, number }] of files.entries()) {
    const before = files[index - 1]?.number ?? number - 1;
    if (number > before + 1) damages.push({ file, position: 0, page: null, message: 'the preceding file is missing' });
    const handle = await open(join(folder, file));
    let last: Member | null = null;
    try {
      for await (const member of walkMembers(handle)) {
        if ('comment' in member) {
          if (member.comment.startsWith('void ')) voided.add(member.comment.slice('void '.length));
          else found.push({ file, member });
          last = member;
        } else if (member.isCutOff) torn.push({ gap: member, file, last });
        else damages.push(toDamage(file, member, last));
      }
    } finally {
      await handle.close();
    }
  }
  // If the run continued in a later file, it was not killed here, so the partial record is damage.
  for (const { gap, file, last } of torn) {
    const run = runOf(last);
    const goesOn = found.some((other) => other.file > file && run !== null && runOf(other.member) === run);
    if (goesOn) damages.push(toDamage(file, gap, last));
  }
  return { found, voided };
}

function runOf(member: Member | null): string | null {
  return / run (\S+)$/.exec(member?.comment ?? '')?.[1] ?? null;
}

function toDamage(file: string, { position, reason }: Gap, last: Member | null): Damage {
  const after = last === null ? 'at the start of the file' : `after ${last.comment}`;
  return { file, position, page: null, message: `${reason}, ${after}` };
}

async function inFiles(
  folder: string,
  found: readonly Found[],
  work: (handle: FileHandle, found: Found) => Promise<void>,
): Promise<void> {
  let current = null as { file: string; handle: FileHandle } | null;
  try {
    for (const one of found) {
      if (current?.file !== one.file) {
        await current?.handle.close();
        current = null;
        current = { file: one.file, handle: await open(join(folder, one.file)) };
      }
      await work(current.handle, one);
    }
  } finally {
    await current?.handle.close();
  }
}

interface Place {
  readonly file: string;
  readonly position: number;
  readonly bytes: number;
}

// Applies a record as the sync did; returns whether there was anything to apply.
function createApplier(parts: ReplayParts, { from, to, only, runs: writesRuns }: ReplayOptions) {
  const { catalogue, warehouse, drift, clock } = parts;
  const readerOf = createRowReaders(catalogue);
  const lastPages = new Map<string, number>();
  const doubtful = new Set<string>();
  const runs = new Map<string, RunRef>();
  const tables: Record<string, TableStats> = {};
  let pages = 0;
  let quarantined = 0;
  let lastDate: number | null = null;

  const isWanted = (resource: string, date: number): boolean => {
    const day = dayOf(date);
    const isKnown = catalogue.resources.some(({ name }) => name === resource);
    return (
      isKnown && (only === null || only.has(resource)) && (from === null || day >= from) && (to === null || day <= to)
    );
  };
  const tableOf = (name: string): TableStats => {
    tables[name] ??= { read: 0, inserted: 0, updated: 0, deleted: 0 };
    return tables[name];
  };

  const applyPage = async (record: RawPageRecord, bytes: Buffer, place: Place): Promise<void> => {
    const { resource: name, chain: id, fixed, member, path, query, page, date } = record;
    const resource = catalogue.get(name);
    // Page 1 restarts the slice. If a page is missing, rows that the slice lacks must not be deleted.
    if (page === 1) await warehouse.restartSlice(id);
    if (page === 1) doubtful.delete(id);
    const isGap = page > 1 && lastPages.get(id) !== page - 1;
    const read = readBody(() => {
      const { value: body, isDamaged } = parseBody(bytes);
      const scope = { fixed, query, member };
      const { tables: rows } = readPage(resource, readerOf(name), scope, body, { bytes, isDamaged }, dayOf(date));
      return { body, rows: isGap ? inconclusive(rows) : rows, next: nextOf(resource, body) };
    });
    if (read.rows.some(({ implausibleCount }) => implausibleCount > 0)) doubtful.add(id);
    const result = await commitPage(parts, {
      run: runs.get(record.runId) ?? { runId: record.runId, passId: record.passId },
      chain: { id, resource: name, fixed, from: record.from, to: record.to },
      tables: read.rows,
      date,
      page,
      next: read.next,
      ...(record.untilKnown === undefined ? {} : { untilKnown: record.untilKnown }),
      doubtful: doubtful.has(id),
      guard: record.guard ?? null,
      requests: [],
      arrival: { body: read.body, bytes, path, query, member },
      raw: { ...place, sha256: createHash('sha256').update(bytes).digest('hex') },
    });
    if (result.ended) lastPages.delete(id);
    else lastPages.set(id, page);
    pages += 1;
    quarantined += result.quarantined;
    for (const [table, changes] of result.tables) {
      const stats = tableOf(table);
      for (const key of ['read', 'inserted', 'updated', 'deleted'] as const) stats[key] += changes[key];
    }
  };

  const apply = async (kept: RawRecord, body: Buffer, place: Place): Promise<boolean> => {
    // Earlier versions stored the Date header unchecked; a record from the future gets the date of the record before
    // it.
    const record = kept.date > clock.now() + FUTURE_MS_MAX ? { ...kept, date: lastDate ?? clock.now() } : kept;
    lastDate = record.date;
    switch (record.kind) {
      case 'page':
        if (!isWanted(record.resource, record.date)) return false;
        await applyPage(record, body, place);
        return true;
      case 'gone': {
        if (!isWanted(record.resource, record.date)) return true;
        const resource = catalogue.get(record.resource);
        const marked = await warehouse.markDeleted(resource, record.keys, record.date);
        tableOf(resource.derived[0]?.name ?? resource.name).deleted += marked;
        return true;
      }
      case 'forms':
        await warehouse.noteForms(record.resource, new Map(Object.entries(record.forms)));
        return true;
      case 'begin': {
        if (!writesRuns) return true;
        const { runId, options, date } = record;
        runs.set(runId, await warehouse.beginRun({ runId, options, now: date }));
        return true;
      }
      case 'end': {
        if (!writesRuns) return true;
        const { runId, passId, totals, date } = record;
        const run = runs.get(runId) ?? { runId, passId };
        await warehouse.endRun(run, totals as unknown as RunTotals, date);
        await drift?.endRun(runId, totals['status'] === 'complete', date);
        return true;
      }
      default:
        return true;
    }
  };
  return Object.assign(apply, { result: () => ({ pages, tables, quarantined }) });
}

function readBody<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof BodyError)
      throw new DamageError(`the page cannot be read: ${thrown.message}`, { cause: thrown });
    throw thrown;
  }
}
