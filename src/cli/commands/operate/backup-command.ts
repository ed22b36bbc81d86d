import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import { plural, printData, printJson, say, size } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag } from '../../program/option-kinds.ts';

export const backup = defineCommand({
  arguments: { file: argument('<file>', 'path of a new file') },
  options: { ...workspaceOptions, force: flag('overwrite an existing file') },
  examples: [
    ['sightline backup acme.duckdb', 'write a backup'],
    ['sightline backup acme.duckdb --workspace acme --force', 'replace the backup of a workspace'],
  ],
  run: async ({ file, force, ...unread }, begin) => {
    const { context, json } = begin(unread);
    const { backupWorkspace } = await import('../../../operations/backup/backup.ts');
    const written = await backupWorkspace(await context(), file, force);
    if (json) printJson('backup', written);
    const { path, bytes, tables, rows, asOf, stale } = written;
    say(
      `${plural(rows, 'row')} of ${plural(tables, 'table')} written and verified, ${size(bytes)}, as of ${shownTime(asOf)}`,
    );
    if (stale) say('note: another process owns the warehouse and has newer data; this backup is of the replica');
    if (!json) printData(path);
    return EXIT.done;
  },
});
