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
    const { id: snapshotId, path, written, deleted } = snapshot;
    printData(JSON.stringify({ snapshotId, path, tables, written, deleted }));
    return EXIT.done;
  }
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  const files = tables.reduce((sum, table) => sum + table.files, 0);
  say(`${plural(tables.length, 'table')}, ${count(rows)} rows, ${plural(files, 'file')}, ${size(bytes)}`);
  if (snapshot.written.files < files) {
    const { files: changed, bytes: added } = snapshot.written;
    say(`${plural(changed, 'file')} had changed, ${size(added)}; the others are those of the snapshot before.`);
  }
  if (snapshot.deleted.length > 0) say(`${plural(snapshot.deleted.length, 'older snapshot')} deleted.`);
  printData(snapshot.path);
  return EXIT.done;
}
