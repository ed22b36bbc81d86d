import { z } from 'zod';
import { fileCounts, number, time } from './json-parts.ts';

const tableFiles = z.object({ name: z.string(), rows: number, files: number, bytes: number });
const tables = z.array(tableFiles);

/** `export`: a snapshot. */
export const snapshot = z.object({
  snapshotId: z.string(),
  path: z.string(),
  tables,
  written: fileCounts.describe('files that had to be written; the others are shared with the previous snapshot'),
  deleted: z.array(z.string()).describe('IDs of deleted snapshots'),
  published: z
    .object({
      kind: z.enum(['s3', 'iceberg']),
      bucket: z.string().nullable(),
      prefix: z.string().nullable(),
      location: z.string(),
      manifest: z.string(),
      pointer: z.enum(['moved', 'superseded']),
      latest: z.string(),
      sent: fileCounts,
      deleted: z.array(z.string()),
    })
    .optional(),
});

/** `export --output`: plain files. */
export const plainFiles = z.object({
  snapshotId: z.null(),
  path: z.string().nullable(),
  tables: z.array(
    tableFiles.extend({
      time: z.string().nullable().optional().describe('column by which rows were selected; null: all rows'),
      cut: z
        .object({
          omitted: number.describe('rows that were not written'),
          partial: number.describe('written rows whose week or month has days that were not selected'),
          from: z.string().nullable(),
          to: z.string().nullable(),
        })
        .optional()
        .describe('effect of --from and --to'),
    }),
  ),
});

/** `backup`. */
export const backup = z.object({
  path: z.string(),
  bytes: number,
  tables: number,
  rows: number,
  asOf: time,
  stale: z.boolean().describe('whether another process has newer data'),
});

/** `restore`. */
export const restore = z.object({
  source: z.string(),
  kind: z.enum(['backup', 'snapshot']),
  asOf: time.nullable(),
  path: z.string(),
  kept: z.string().nullable().describe('path of the replaced warehouse'),
  continues: z.boolean().describe('whether the next sync resumes'),
  tables: number,
  rows: number,
  missing: z.array(z.string()),
  unknown: z.array(z.string()),
});

/** `report`. */
export const report = z.object({
  reports: z.array(z.object({ brandId: z.string(), name: z.string(), page: z.string(), charts: z.array(z.string()) })),
});

/** `connect`. */
export const connect = z.object({
  path: z.string(),
  clients: z.record(z.string(), z.string()).describe('by client, the line that opens the replica'),
});

/** `describe TABLE`. */
export const table = z.object({
  name: z.string(),
  kind: z.enum(['data', 'history', 'mart', 'bookkeeping']),
  about: z.string(),
  key: z.array(z.string()),
  columns: z.array(z.object({ name: z.string(), type: z.string(), about: z.string() })),
});

/** `describe`. */
export const allTables = z.array(table);

/** `sql`: a row is an object by column name. */
export const rows = z.array(z.record(z.string(), z.unknown()));

/** `demo`. */
export const demo = z.object({
  workspace: z.string(),
  folder: z.string(),
  snapshotId: z.string(),
  answers: z.array(z.object({ title: z.string(), rows })),
});
