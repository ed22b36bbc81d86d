import type { Command } from 'commander';
import { optionOf } from './choices.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands that bring what the API has into the warehouse, and price it. */
export function addSync(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('sync'))
    .description('copy what the API has into the warehouse')
    .option('--only <resources...>', 'only these resources, and what they depend on')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the whole history)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--base-url <url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)')
    .option('--full', 'read everything again, whatever is known of it')
    .option('--accept-deletions', 'delete stored rows that upstream no longer lists, however many they are')
    .option('--max-requests <number>', 'stop after so many requests; the next run goes on')
    .option('--max-minutes <number>', 'stop after so many minutes')
    .option('--until <time>', 'stop at a time of the day, HH:MM, local')
    .option('--accept-plan', 'go on even if the plan is far larger than the last one')
    .option('--accept-expiry', 'remove all expired raw pages, not only those of one day')
    .option('--all', 'every configured workspace, side by side')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('./commands/sync.ts')).sync(flags, signal),
        // Workspaces side by side have an owner each, or none.
        flags.all === true ? undefined : { flags, needsWarehouse: true },
      ),
    );

  onWorkspace(program.command('plan'))
    .description('say what a sync would ask for now, what that costs, and why')
    .option('--only <resources...>', 'only these resources, and what they depend on')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the whole history)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--base-url <url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)')
    .option('--full', 'as if everything were read again')
    .option('--offline', "ask nothing of upstream: plan from what is held and from upstream's last counts")
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/plan.ts')).plan(flags, signal)),
    );
}

/** Adds the commands that make something anew of what is held: tables, snapshots, files. */
export function addMaking(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('replay'))
    .description('build tables anew from the pages that syncs have kept, without a request')
    .option('--from <day>', 'first day on which pages were read, YYYY-MM-DD (default: the first there is)')
    .option('--to <day>', 'last day on which pages were read, YYYY-MM-DD (default: the last there is)')
    .option('--only <resources...>', 'only these resources, and those that fill the same tables')
    .option('--into <file>', 'build a new file and leave the warehouse as it is')
    .option('--accept-missing', 'replace the warehouse even by one that lacks some of its rows')
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/replay.ts')).replay(flags, signal)),
    );

  onWorkspace(program.command('export'))
    .description('publish a Parquet snapshot of every table, or write some of the data as plain files')
    .option('--tables <tables...>', 'only these tables or views, such as one of mart.* (default: every table)')
    .option('--from <day>', 'rows from this day on, YYYY-MM-DD, of what has days')
    .option('--to <day>', 'rows up to this day, included')
    .option('--brand <ids...>', 'only rows of these brands')
    .addOption(
      optionOf('--format <format>', 'what plain files are, one a table (default: parquet)', [
        'parquet',
        'csv',
        'ndjson',
        'arrow',
      ]),
    )
    .addOption(optionOf('--compression <name>', 'of Parquet (default: as configured)', ['snappy', 'zstd']))
    .option('-o, --output <folder>', 'where plain files go; - is standard output, for one table')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('./commands/export.ts')).exportCommand(flags, signal),
        // Plain files are written from the copy, which anybody may read.
        flags.output === undefined ? { flags, needsWarehouse: true } : undefined,
      ),
    );
}
