import type { Command } from 'commander';
import type { StateFlags } from './commands/state.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands that tell what is there, what it cost, and whether it is right. */
export function addRecords(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('verify'))
    .description('recount the answers and hold them against what the API reports')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: all that were reported)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--fresh', 'read the reports again first')
    .option('--repair', 'read the days that differ again, and verify once more')
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/verify.ts')).verify(flags, signal), {
        flags,
        needsWarehouse: true,
      }),
    );
  onWorkspace(program.command('status'))
    .description('tell how current, whole and healthy the copy is, also while a sync is running')
    .option('--all', 'of every configured workspace')
    .action((flags) =>
      choose(
        flags.json === true,
        async () => (await import('./commands/status.ts')).status(flags),
        flags.all === true ? undefined : { flags, needsWarehouse: false },
      ),
    );
  onWorkspace(program.command('runs'))
    .description('tell where the budget went, run by run, or of one run by resource')
    .argument('[id]', 'the run, or the beginning of its ID')
    .option('--limit <number>', 'how many runs (default: 20)')
    .action((id, flags) =>
      choose(flags.json === true, async () => (await import('./commands/runs.ts')).runs(id, flags)),
    );
  addState(program.command('state'), onWorkspace, choose);
}

function addState(state: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  state
    .description('list, export, import or reset what syncs go on from')
    .argument('[command]')
    .action(async (given: string | undefined) => (await import('./commands/state.ts')).refuseState(given));
  const narrowed = (command: Command): Command =>
    onWorkspace(command)
      .option('--resource <resources...>', 'only these resources')
      .option('--brand <ids...>', 'only these brands');
  const load = () => import('./commands/state.ts');
  narrowed(state.command('list'))
    .description('list what was read whole, and what was begun')
    .action((flags: StateFlags) => choose(flags.json === true, async () => (await load()).listState(flags)));
  onWorkspace(state.command('export'))
    .description('write the state to a file')
    .argument('<file>', 'a file that is not there yet')
    .option('--force', 'write over a file that is there')
    .action((file: string, flags: StateFlags) =>
      choose(flags.json === true, async () => (await load()).exportStateCommand(file, flags)),
    );
  onWorkspace(state.command('import'))
    .description('put the state of a file in place of what is there')
    .argument('<file>', 'a file that `state export` wrote')
    .option('--yes', 'do not ask')
    .option('--force', 'also where the brands are others')
    .action((file: string, flags: StateFlags) =>
      choose(flags.json === true, async (signal) => (await load()).importStateCommand(file, flags, signal)),
    );
  narrowed(state.command('reset'))
    .description('forget what was read, so that the next sync reads it again; no row is deleted')
    .option('--yes', 'do not ask')
    .action((flags: StateFlags) =>
      choose(flags.json === true, async (signal) => (await load()).resetStateCommand(flags, signal)),
    );
}
