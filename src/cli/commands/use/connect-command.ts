import { chooseName } from '../../../base/choose-name.ts';
import { EXIT } from '../../../base/errors.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument } from '../../program/option-kinds.ts';

/** Lines that open the replica read-only in each client. `path` is absolute. */
const clients: Readonly<Record<string, { readonly title: string; line(path: string): string }>> = {
  duckdb: { title: "DuckDB's shell", line: (path) => `duckdb -readonly '${path.replaceAll("'", "'\\''")}'` },
  python: {
    title: 'Python',
    line: (path) => `import duckdb; con = duckdb.connect(${JSON.stringify(path)}, read_only=True)`,
  },
  r: {
    title: 'R',
    line: (path) => `con <- DBI::dbConnect(duckdb::duckdb(), dbdir = ${JSON.stringify(path)}, read_only = TRUE)`,
  },
  node: {
    title: 'Node (@duckdb/node-api)',
    line: (path) =>
      `const instance = await DuckDBInstance.create(${JSON.stringify(path)}, { access_mode: 'READ_ONLY' });`,
  },
  attach: {
    title: 'SQL in another DuckDB database (DuckDB 1.4.4 or later; before, run USE sightline first)',
    line: (path) => `ATTACH '${path.replaceAll("'", "''")}' AS sightline (READ_ONLY);`,
  },
  jdbc: { title: 'JDBC (DBeaver, DataGrip, Spark)', line: (path) => `jdbc:duckdb:${path};access_mode=READ_ONLY` },
  metabase: {
    title: 'Metabase (DuckDB driver): database file, with the read-only switch on',
    line: (path) => path,
  },
};

export const connect = defineCommand({
  arguments: { client: argument('[client]', 'the tool (default: all)', Object.keys(clients)) },
  options: workspaceOptions,
  examples: [
    ['sightline connect', 'list the lines for all tools'],
    ['sightline connect python', 'print the line for Python'],
  ],
  run: async ({ client, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const chosen = client === null ? null : chooseName('client', client, Object.keys(clients));
    const { replicaPathOf } = await import('../../../operations/query.ts');
    const path = replicaPathOf(await config());
    const lines = Object.entries(clients).map(([name, { title, line }]) => ({ name, title, line: line(path) }));
    if (json) {
      printJson('connect', { path, clients: Object.fromEntries(lines.map(({ name, line }) => [name, line])) });
    } else if (chosen !== null) printData(lines.find(({ name }) => name === chosen)?.line ?? '');
    else {
      for (const { title, line } of lines) printData(`${title}\n  ${line}\n`);
      say(
        'The file is replaced after each sync: reopen it to see new data. Always open it read-only, with DuckDB 1.1 or later.',
      );
    }
    return EXIT.done;
  },
});
