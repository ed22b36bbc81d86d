import { EXIT } from '../../base/errors.ts';
import { type Restored, readRestoreSource, restoreWorkspace } from '../../operations/backup/restore.ts';
import { commandContext, type WorkspaceFlags } from '../context.ts';
import { confirm } from '../output/confirm.ts';
import { plural, printData, say } from '../output/output.ts';

/** Flags of `restore`. */
export interface RestoreFlags extends WorkspaceFlags {
  readonly force?: boolean;
  readonly yes?: boolean;
}

/** Runs `sightline restore SOURCE` and returns its exit code. */
export async function restore(from: string, flags: RestoreFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('restore', flags, signal);
  const { source, hasData } = await readRestoreSource(context, from, flags.force === true);
  const what = `this replaces the warehouse of workspace ${context.config.name} with ${source.path} and keeps the old file`;
  // Without data there is nothing to lose, so do not ask.
  if (hasData && !(await confirm(what, flags.yes === true, signal))) {
    say('Nothing was changed.');
    return EXIT.failed;
  }
  const restored = await restoreWorkspace(context, source);
  if (flags.json === true) printData(JSON.stringify(restored));
  describe(restored);
  if (flags.json !== true) printData(restored.path);
  return EXIT.done;
}

function describe({ kind, tables, rows, asOf, kept, continues, missing, unknown }: Restored): void {
  const of = asOf === null ? '' : `, as of ${asOf}`;
  say(`${plural(rows, 'row')} of ${plural(tables, 'table')} restored from a ${kind} and checked${of}`);
  if (missing.length > 0) say(`created empty, because the snapshot does not have them: ${missing.join(', ')}`);
  if (unknown.length > 0) say(`skipped, because this version does not support them: ${unknown.join(', ')}`);
  if (kept !== null) say(`the old data are kept as ${kept}`);
  say(
    continues
      ? 'The next sync resumes from there.'
      : 'A snapshot does not contain the sync state, runs, requests and quarantine: the next sync fetches everything again.',
  );
}
