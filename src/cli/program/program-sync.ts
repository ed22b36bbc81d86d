import type { Command } from 'commander';
import type { Choose } from '../invocation.ts';
import { optionOf } from './choices.ts';

/** Adds the commands that sync and plan. */
export function addSync(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('sync'))
    .description("copy the API's data into the warehouse")
    .option('--only <resources...>', 'only these resources and their dependencies')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the complete history)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--base-url <url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)')
    .option('--full', 'fetch everything again')
    .option('--accept-deletions', 'delete stored rows that upstream no longer lists, regardless of their number')
    .option('--max-requests <number>', 'stop after this many requests; the next run resumes')
    .option('--max-minutes <number>', 'stop after this many minutes')
    .option('--until <time>', 'stop at this local time of day, HH:MM')
    .option('--accept-plan', 'continue even if the plan is far larger than the last one')
    .option('--accept-expiry', 'remove all expired raw pages, not only those of one day')
    .option('--all', 'sync every configured workspace, in parallel')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('../commands/sync-command.ts')).sync(flags, signal),
        // With --all each workspace has a separate owner, or none.
        flags.all === true ? undefined : { flags, needsWarehouse: true },
      ),
    );

  onWorkspace(program.command('plan'))
    .description('show the requests that a sync would send now, with reasons')
    .option('--only <resources...>', 'only these resources and their dependencies')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the complete history)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--base-url <url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)')
    .option('--full', 'plan a sync that fetches everything again')
    .option('--offline', "send no requests: plan from the stored data and upstream's last counts")
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('../commands/plan-command.ts')).plan(flags, signal)),
    );
}

/** Adds the commands that rebuild tables or write files from stored data. */
export function addMaking(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('replay'))
    .description('rebuild tables from stored raw pages, without requests')
    .option('--from <day>', 'first day on which pages were received, YYYY-MM-DD (default: the first stored)')
    .option('--to <day>', 'last day on which pages were received, YYYY-MM-DD (default: the last stored)')
    .option('--only <resources...>', 'only these resources and those that fill the same tables')
    .option('--into <file>', 'build a new file and do not change the warehouse')
    .option('--accept-missing', 'replace the warehouse even if the new one lacks some of its rows')
    .action((flags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/replay-command.ts')).replay(flags, signal),
      ),
    );

  onWorkspace(program.command('export'))
    .description('publish a Parquet snapshot of every table, or write selected data as plain files')
    .option('--tables <tables...>', 'only these tables or views, such as those of mart.* (default: every table)')
    .option('--from <day>', 'only rows from this day on, YYYY-MM-DD; tables without days are exported completely')
    .option('--to <day>', 'only rows up to and including this day')
    .option('--brand <ids...>', 'only rows of these brands')
    .addOption(
      optionOf('--format <format>', 'format of the plain files, one file per table (default: parquet)', [
        'parquet',
        'csv',
        'ndjson',
        'arrow',
      ]),
    )
    .addOption(optionOf('--compression <name>', 'Parquet compression (default: as configured)', ['snappy', 'zstd']))
    .option('-o, --output <folder>', 'folder for plain files, or - for standard output, with one table')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('../commands/export-command.ts')).exportCommand(flags, signal),
        // Plain files are written from the published copy, which needs no lock.
        flags.output === undefined ? { flags, needsWarehouse: true } : undefined,
      ),
    );
}
