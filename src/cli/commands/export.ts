import { exportWorkspace } from '../../app.ts';
import { EXIT } from '../../base/errors.ts';
import { commandContext, type WorkspaceFlags } from '../context.ts';
import { count, plural, printData, say, size } from '../output.ts';
import { createLineProgress } from '../progress.ts';

/** Runs `sightline export` and returns its exit code. */
export async function exportSnapshot(flags: WorkspaceFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('export', flags, signal);
  const progress = createLineProgress();
  const snapshot = await exportWorkspace(context, ({ table, done, of }) => {
    progress.update(`${done} of ${of} tables written, ${table} now`);
  }).finally(progress.done);
  const tables = snapshot.tables.map(({ name, rows, files, bytes }) => ({ name, rows, files: files.length, bytes }));
  if (flags.json === true) {
    printData(JSON.stringify({ snapshotId: snapshot.id, path: snapshot.path, tables }));
    return EXIT.done;
  }
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  const files = tables.reduce((sum, table) => sum + table.files, 0);
  say(`${plural(tables.length, 'table')}, ${count(rows)} rows, ${plural(files, 'file')}, ${size(bytes)}`);
  printData(snapshot.path);
  return EXIT.done;
}
