import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { Restored } from '../../../operations/backup/restore.ts';
import { confirm } from '../../output/confirm.ts';
import { plural, printData, printJson, say } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag } from '../../program/option-kinds.ts';

export const restore = defineCommand({
  arguments: { from: argument('<source>', 'a file written by `backup`, or a snapshot folder') },
  options: {
    ...workspaceOptions,
    force: flag('replace existing data; the old file is kept beside the new one'),
    yes: flag('do not ask for confirmation'),
  },
  examples: [
    ['sightline restore acme.duckdb', 'restore a backup into a workspace without data'],
    ['sightline restore data/acme/snapshots/latest --force --yes', 'replace the data by a snapshot, without asking'],
  ],
  run: async ({ from, force, yes, ...unread }, begin) => {
    const { json, signal, ...call } = begin(unread);
    const { readRestoreSource, restoreWorkspace } = await import('../../../operations/backup/restore.ts');
    const context = await call.context();
    const { source, hasData } = await readRestoreSource(context, from, force);
    const what = `this replaces the warehouse of workspace ${context.config.name} with ${source.path} and keeps the old file`;
    // Without data there is nothing to lose, so do not ask.
    if (hasData && !(await confirm(what, yes, signal))) {
      say('Nothing was changed.');
      return EXIT.failed;
    }
    const restored = await restoreWorkspace(context, source);
    if (json) printJson('restore', restored);
    describe(restored);
    if (!json) printData(restored.path);
    return EXIT.done;
  },
});

function describe({ kind, tables, rows, asOf, kept, continues, missing, unknown }: Restored): void {
  const of = asOf === null ? '' : `, as of ${shownTime(asOf)}`;
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
