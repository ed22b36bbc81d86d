import { EXIT } from '../../base/errors.ts';
import { backupWorkspace } from '../../operations/backup/backup.ts';
import { commandContext, type WorkspaceFlags } from '../context.ts';
import { plural, printData, say, size } from '../output/output.ts';

/** Flags of `backup`. */
export interface BackupFlags extends WorkspaceFlags {
  readonly force?: boolean;
}

/** Runs `sightline backup FILE` and returns its exit code. */
export async function backup(file: string, flags: BackupFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('backup', flags, signal);
  const written = await backupWorkspace(context, file, flags.force === true);
  const { path, bytes, tables, rows, asOf, stale } = written;
  if (flags.json === true) printData(JSON.stringify({ path, bytes, tables, rows, asOf, stale }));
  say(`${plural(rows, 'row')} of ${plural(tables, 'table')} written and verified, ${size(bytes)}, as of ${asOf}`);
  if (stale)
    say('note: another process owns the warehouse and has newer data; this backup is of the last published copy');
  if (flags.json !== true) printData(path);
  return EXIT.done;
}
