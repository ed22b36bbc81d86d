import type { Command } from 'commander';
import type { BackupFlags } from '../commands/backup-command.ts';
import type { DoctorFlags } from '../commands/doctor-command.ts';
import type { NotifyFlags } from '../commands/notify-command.ts';
import type { RestoreFlags } from '../commands/restore-command.ts';
import type { Choose } from '../invocation.ts';

/** Adds the commands that check, back up and restore a workspace. */
export function addCare(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('doctor'))
    .description('check the installation and the data, and print the next step for each problem')
    .option('--fix', 'repair what is safe to repair: leftovers, permissions, the published copy')
    .option('--offline', 'send no requests to upstream or remote storage')
    .option('--all', 'check every configured workspace; without --json only problems are printed')
    .action((flags: DoctorFlags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/doctor-command.ts')).doctor(flags, signal),
      ),
    );
  onWorkspace(program.command('backup'))
    .description('write the warehouse to a single DuckDB file and check it, even while it is in use')
    .argument('<file>', 'path of a new file')
    .option('--force', 'overwrite an existing file')
    .action((file: string, flags: BackupFlags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/backup-command.ts')).backup(file, flags, signal),
      ),
    );
  onWorkspace(program.command('notify'))
    .description('list the webhooks for failures, drift and stale data; with --test, send each a test message')
    .option('--test', "send a test message and print each receiver's response")
    .action((flags: NotifyFlags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/notify-command.ts')).notifyCommand(flags, signal),
      ),
    );
  onWorkspace(program.command('restore'))
    .description('rebuild the warehouse from a backup or from a snapshot folder')
    .argument('<source>', 'a file written by `backup`, or a snapshot folder')
    .option('--force', 'replace existing data; the old file is kept beside the new one')
    .option('--yes', 'do not ask for confirmation')
    .action((source: string, flags: RestoreFlags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/restore-command.ts')).restore(source, flags, signal),
      ),
    );
}
