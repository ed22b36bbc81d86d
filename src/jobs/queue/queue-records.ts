import type { PgBoss } from 'pg-boss';
import { z } from 'zod';
import { READ_MAX, RECORDS, YEARS_SECONDS } from './queue-connection.ts';

const FOLDER = 'folder';
const WORKER = 'worker/';

/** Names of workers and machines that are safe to print on a terminal. */
const printable = z.string().regex(/^[\x20-\x7e]{1,255}$/);
const workerSchema = z.object({
  name: printable,
  host: printable,
  pid: z.int(),
  concurrency: z.int(),
  /** Ids of its active tasks. */
  tasks: z.array(z.string()),
});
/** What a worker writes about itself. */
type Written = z.infer<typeof workerSchema>;
/** A worker: what it wrote, and when it wrote first and last, by the clock of the database. */
export type WorkerRecord = Written & { readonly since: Date; readonly seen: Date };

/** Writes what a worker says about itself, in place of what it wrote before. */
export async function writeWorker(boss: PgBoss, id: string, record: Written): Promise<void> {
  await boss.upsert(RECORDS, record, { singletonKey: `${WORKER}${id}`, startAfter: 0 });
}

/** Removes what a worker wrote. */
export async function removeWorker(boss: PgBoss, id: string): Promise<void> {
  const records = await boss.findJobs(RECORDS, { key: `${WORKER}${id}` });
  if (records.length > 0)
    await boss.deleteJob(
      RECORDS,
      records.map((record) => record.id),
    );
}

/** Reads what the workers wrote about themselves. Leaves out invalid records. */
export async function readWorkers(boss: PgBoss): Promise<WorkerRecord[]> {
  const records = await boss.findJobs<unknown>(RECORDS, { limit: READ_MAX });
  return records.flatMap(({ data, createdOn, startAfter }) => {
    const written = workerSchema.safeParse(data).data;
    return written === undefined ? [] : [{ ...written, since: createdOn, seen: startAfter }];
  });
}

/** Returns the recorded data folder; null if none is recorded. */
export async function readFolder(boss: PgBoss): Promise<string | null> {
  const [record] = await boss.findJobs<{ folder: string }>(RECORDS, { key: FOLDER });
  return record?.data.folder ?? null;
}

/** Records a data folder if none is recorded or `replaces` is true. Returns the recorded folder. */
export async function writeFolder(boss: PgBoss, folder: string, replaces: boolean): Promise<string> {
  const record = { singletonKey: FOLDER, retentionSeconds: YEARS_SECONDS };
  if (replaces) await boss.upsert(RECORDS, { folder }, record);
  // There is at most one record with a key.
  else await boss.insert(RECORDS, [{ ...record, data: { folder } }]);
  return (await readFolder(boss)) ?? folder;
}
