import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { number, tableCounts, type ValueOf } from '../../contract/operation/json-parts.ts';
import { type ApplyParts, createApplier, DamageError, type ReplayOptions } from './apply-record.ts';
import { type Gap, type Member, readMember, walkMembers } from './raw-format.ts';
import { listRawFiles, type RawFile } from './raw-log.ts';
import { type RawRecord, toRawRecord } from './raw-record.ts';

/** Dependencies of a replay. */
export interface ReplayParts extends ApplyParts {
  /** The folder of raw pages. */
  readonly folder: string;
  /** Aborted to stop between two pages. */
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, of: number) => void;
}

/** A page, or a part of a file, that could not be replayed. */
const damage = z.object({
  file: z.string(),
  position: number.describe('offset in bytes from the start of the file'),
  page: z.string().nullable().describe('description of the damaged page; null if unknown'),
  message: z.string(),
});

type Damage = ValueOf<typeof damage>;

/** Result of a replay. */
export const replayResult = z.object({
  files: number,
  pages: number,
  skipped: number.describe(
    'pages of other days or resources, pages that were never committed, and those of a resource that no longer exists',
  ),
  tables: tableCounts,
  quarantined: number,
  damages: z.array(damage),
});

/** Result of a replay. */
export type ReplayResult = ValueOf<typeof replayResult>;

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
  const applier = createApplier(parts, options);
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
        const isApplied = await applier.apply(toRecord(header), body, { ...place, bytes: member.bytes });
        if (!isApplied) skipped += 1;
      } catch (thrown) {
        if (!(thrown instanceof DamageError)) throw thrown;
        if (damages.length < DAMAGES_MAX) damages.push({ ...place, page: member.comment, message: thrown.message });
      }
    }
  });
  onProgress?.(found.length, found.length);
  return { files: files.length, skipped, damages, ...applier.result() };
}

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
