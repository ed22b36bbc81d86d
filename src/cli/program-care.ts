import type { Command } from 'commander';
import type { BackupFlags } from './commands/backup.ts';
import type { DoctorFlags } from './commands/doctor.ts';
import type { NotifyFlags } from './commands/notify.ts';
import type { RestoreFlags } from './commands/restore.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands that keep a workspace safe and find what is wrong with it. */
export function addCare(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('doctor'))
    .description('look for what is wrong with the installation and the data, and say what to do about it')
    .option('--fix', 'put right what is safe: leftovers, permissions, the published copy')
    .option('--offline', 'ask nothing of upstream')
    .option('--all', 'of every configured workspace; people are shown what is wrong')
    .action((flags: DoctorFlags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/doctor.ts')).doctor(flags, signal)),
    );
  onWorkspace(program.command('backup'))
    .description('write the whole warehouse into one DuckDB file and check it, also while it is in use')
    .argument('<file>', 'a file that is not there yet')
    .option('--force', 'write over a file that is there')
    .action((file: string, flags: BackupFlags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/backup.ts')).backup(file, flags, signal)),
    );
  onWorkspace(program.command('notify'))
    .description('list who is told of failures, drift and stale data; with --test, send each a test message')
    .option('--test', 'send a test message, and say what each receiver answered')
    .action((flags: NotifyFlags) =>
      choose(flags.json === true, async (signal) =>
        (await import('./commands/notify.ts')).notifyCommand(flags, signal),
      ),
    );
  onWorkspace(program.command('restore'))
    .description('build the warehouse from a backup, or from the folder of a snapshot alone')
    .argument('<source>', 'a file that `backup` wrote, or the folder of a snapshot')
    .option('--force', 'also where there are data; the old file is kept beside the new one')
    .option('--yes', 'do not ask')
    .action((source: string, flags: RestoreFlags) =>
      choose(flags.json === true, async (signal) =>
        (await import('./commands/restore.ts')).restore(source, flags, signal),
      ),
    );
}
