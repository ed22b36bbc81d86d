import { type Command, Option } from 'commander';
import { argumentOf, optionOf } from './choices.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands of those who read the data: questions in SQL, where the data are, and what they mean. */
export function addReading(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('sql'))
    .description('ask the data in SQL, read-only, also while a sync is running; without a query, one after another')
    .argument(
      '[query]',
      'statements of DuckDB that read, such as SELECT, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN or SET VARIABLE; all others are rejected before any runs. A table shows the result of each, other formats take one (default: what is typed, or comes on standard input)',
    )
    .option('--file <file>', 'read the query from a file')
    .addOption(
      optionOf('--format <format>', "how rows are written (default: by the output's ending, or table)", [
        'table',
        'csv',
        'json',
        'ndjson',
        'parquet',
      ]),
    )
    .option('--output <file>', 'write the rows to a file')
    .option('--timeout <seconds>', 'stop a query that takes longer (default: 3600)')
    .option(
      '--max-memory <MB>',
      'stop a query whose process needs more memory (default: 4096, at most half of the machine)',
    )
    .action((query, flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/sql.ts')).sql(query, flags, signal)),
    );
  onWorkspace(program.command('connect'))
    .description("print the line that opens the analysts' copy in another tool")
    .addArgument(
      argumentOf('[client]', 'the tool (default: all)', ['duckdb', 'python', 'r', 'node', 'jdbc', 'metabase']),
    )
    .action((client, flags) =>
      choose(flags.json === true, async () => (await import('./commands/connect.ts')).connect(client, flags)),
    );
  program
    .command('describe')
    .description('tell what tables there are, or what the columns of one mean')
    .argument('[table]', 'a table or view, such as mart.visibility_weekly')
    .option('--json', 'print it as JSON')
    .option('--markdown', 'print it as Markdown')
    .action((table, flags) =>
      choose(flags.json === true, async () => (await import('./commands/describe.ts')).describe(table, flags)),
    );
  onWorkspace(program.command('report'))
    .description('write a page for each brand, with charts, that needs no network to be read')
    .option('--brand <ids...>', 'only these brands')
    .addOption(new Option('--weeks <number>', 'how far the charts go back').default('26'))
    .option('--output <folder>', "where to (default: reports in the workspace's folder)")
    .action((flags) => choose(flags.json === true, async () => (await import('./commands/report.ts')).report(flags)));
}
