import { z } from 'zod';
import { errorParts, fileCounts, number } from '../../contract/operation/json-parts.ts';
import { changeRange } from '../../operations/export/export-base.ts';
import { destinationLoad } from '../../operations/load.ts';
import { publication } from '../../operations/publish.ts';
import { writtenReport } from '../../operations/write-report.ts';

const tableFiles = z.object({ name: z.string(), rows: number, files: number, bytes: number });
const tables = z.array(tableFiles);

/** `export`: a snapshot. */
export const snapshot = z.object({
  snapshotId: z.string(),
  path: z.string(),
  tables,
  written: fileCounts.describe('files that had to be written; the others are shared with the previous snapshot'),
  deleted: z.array(z.string()).describe('IDs of deleted snapshots'),
  published: publication.optional(),
});

/** `export --output`: plain files. */
export const plainFiles = z.object({
  snapshotId: z.null(),
  path: z.string().nullable(),
  changes: changeRange.optional().describe('range of an incremental export'),
  tables: z.array(
    tableFiles.extend({
      sheet: z.string().optional().describe('name of the sheet in a workbook, whose size is `bytes`'),
      changes: z.object({ insert: number, update: number, delete: number }).optional(),
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

/** A line of `export --all`: the result of a workspace, or only its error. */
export const exportOfWorkspace = z.object({
  workspace: z.string(),
  ...snapshot.partial().shape,
  ...plainFiles.partial().shape,
  snapshotId: z.string().nullable().optional(),
  path: z.string().nullable().optional(),
  error: errorParts.optional(),
});

/** `load`. */
export const load = z.object({ destinations: z.array(destinationLoad) });

/** A line of `load --all`: the result of a workspace, or only its error. */
export const loadOfWorkspace = z.object({
  workspace: z.string(),
  ...load.partial().shape,
  error: errorParts.optional(),
});

/** `report`. */
export const report = z.object({ reports: z.array(writtenReport) });

/** `connect`. */
export const connect = z.object({
  path: z.string(),
  clients: z.record(z.string(), z.string()).describe('by client, the line that opens the replica'),
});

/** `sql`: a row is an object by column name. */
export const rows = z.array(z.record(z.string(), z.unknown()));

/** `demo`. */
export const demo = z.object({
  workspace: z.string(),
  folder: z.string(),
  snapshotId: z.string(),
  answers: z.array(z.object({ title: z.string(), rows })),
});

/** `metrics export`. */
export const metricsExport = z.object({
  folder: z.string().nullable().describe('null without --output'),
  files: z.array(
    z.object({
      path: z.string().describe('relative to the folder'),
      text: z.string().nullable().describe('null if the file was written'),
    }),
  ),
});
