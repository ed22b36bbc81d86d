import { type Command, Option } from 'commander';
import type { Choose } from '../invocation.ts';
import { argumentOf, optionOf } from './choices.ts';

/** Adds the commands for reading the data: SQL, connections, documentation and reports. */
export function addReading(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('sql'))
    .description(
      'query the data with read-only SQL, even while a sync is running; without a query, start an interactive shell',
    )
    .argument(
      '[query]',
      'reading DuckDB statements, such as SELECT, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN or SET VARIABLE; all others are rejected before any statement runs. The table format shows the result of each statement, other formats accept one (default: read from standard input)',
    )
    .option('--file <file>', 'read the query from a file')
    .addOption(
      optionOf('--format <format>', 'format of the rows (default: from the extension of --output, or table)', [
        'table',
        'csv',
        'json',
        'ndjson',
        'parquet',
      ]),
    )
    .option('--output <file>', 'write the rows to a file')
    .option('--timeout <seconds>', 'time limit of the query (default: 3600)')
    .option('--max-memory <MB>', 'memory limit of the query (default: 4096, at most half of the memory)')
    .action((query, flags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/sql-command.ts')).sql(query, flags, signal),
      ),
    );
  onWorkspace(program.command('connect'))
    .description('print the line that opens the published copy in another tool')
    .addArgument(
      argumentOf('[client]', 'the tool (default: all)', ['duckdb', 'python', 'r', 'node', 'jdbc', 'metabase']),
    )
    .action((client, flags) =>
      choose(flags.json === true, async () => (await import('../commands/connect-command.ts')).connect(client, flags)),
    );
  program
    .command('describe')
    .description('list the tables, or describe the columns of one')
    .argument('[table]', 'a table or view, such as mart.visibility_weekly')
    .option('--json', 'print the result as JSON')
    .option('--markdown', 'print the result as Markdown')
    .action((table, flags) =>
      choose(flags.json === true, async () => (await import('../commands/describe-command.ts')).describe(table, flags)),
    );
  onWorkspace(program.command('report'))
    .description('write a self-contained HTML report with charts for each brand')
    .option('--brand <ids...>', 'only these brands')
    .addOption(new Option('--weeks <number>', 'weeks that the charts cover').default('26'))
    .option('--output <folder>', "output folder (default: reports in the workspace's folder)")
    .action((flags) =>
      choose(flags.json === true, async () => (await import('../commands/report-command.ts')).report(flags)),
    );
}
