import type { Command } from 'commander';
import type { StateFlags } from '../commands/state-command.ts';
import type { Choose } from '../invocation.ts';

/** Adds the commands for verification, status, cost and sync state. */
export function addRecords(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('verify'))
    .description("check the copy against the API's own counts")
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: all reported days)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--fresh', "fetch the API's reports again first")
    .option('--repair', 'fetch differing days again and verify once more')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('../commands/verify-command.ts')).verify(flags, signal),
        {
          flags,
          needsWarehouse: true,
        },
      ),
    );
  onWorkspace(program.command('status'))
    .description(
      'show whether all is well, and the freshness, gaps and health of the data, even while a sync is running',
    )
    .option('--check', 'exit with 0 if all is well, 3 if something should be checked, 1 if something does not work')
    .option('--all', 'show every configured workspace')
    .action((flags) =>
      choose(
        flags.json === true,
        async () => (await import('../commands/status-command.ts')).status(flags),
        flags.all === true ? undefined : { flags, needsWarehouse: false },
      ),
    );
  onWorkspace(program.command('runs'))
    .description('list the requests of each run, or of one run by resource')
    .argument('[id]', 'ID of a run, or its beginning')
    .option('--limit <number>', 'maximum number of runs to list (default: 20)')
    .action((id, flags) =>
      choose(flags.json === true, async () => (await import('../commands/runs-command.ts')).runs(id, flags)),
    );
  addState(program.command('state'), onWorkspace, choose);
}

function addState(state: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  state
    .description('list, export, import or reset the state from which syncs resume')
    .argument('[command]')
    .action(async (given: string | undefined) => (await import('../commands/state-command.ts')).refuseState(given));
  const narrowed = (command: Command): Command =>
    onWorkspace(command)
      .option('--resource <resources...>', 'only these resources')
      .option('--brand <ids...>', 'only these brands');
  const load = () => import('../commands/state-command.ts');
  narrowed(state.command('list'))
    .description('list completely fetched and unfinished parts')
    .action((flags: StateFlags) => choose(flags.json === true, async () => (await load()).listState(flags)));
  onWorkspace(state.command('export'))
    .description('write the state to a file')
    .argument('<file>', 'path of a new file')
    .option('--force', 'overwrite an existing file')
    .action((file: string, flags: StateFlags) =>
      choose(flags.json === true, async () => (await load()).exportStateCommand(file, flags)),
    );
  onWorkspace(state.command('import'))
    .description('replace the state with that of a file')
    .argument('<file>', 'a file written by `state export`')
    .option('--yes', 'do not ask for confirmation')
    .option('--force', 'import even if the brands differ')
    .action((file: string, flags: StateFlags) =>
      choose(flags.json === true, async (signal) => (await load()).importStateCommand(file, flags, signal)),
    );
  narrowed(state.command('reset'))
    .description('delete the state, so that the next sync fetches the data again; no row is deleted')
    .option('--yes', 'do not ask for confirmation')
    .action((flags: StateFlags) =>
      choose(flags.json === true, async (signal) => (await load()).resetStateCommand(flags, signal)),
    );
}
