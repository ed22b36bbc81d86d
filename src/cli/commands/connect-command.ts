import { existsSync } from 'node:fs';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { layoutOf } from '../../snapshot/layout.ts';
import { readConfig, type WorkspaceFlags } from '../context.ts';
import { printData, say } from '../output/output.ts';

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
  jdbc: { title: 'JDBC (DBeaver, DataGrip, Spark)', line: (path) => `jdbc:duckdb:${path};access_mode=READ_ONLY` },
  metabase: {
    title: 'Metabase (DuckDB driver): database file, with the read-only switch on',
    line: (path) => path,
  },
};

/** Runs `sightline connect`. Prints the line that opens the replica in a client, or in all of them. Throws `no_data`. */
export async function connect(client: string | undefined, flags: WorkspaceFlags): Promise<number> {
  const names = Object.keys(clients);
  if (client !== undefined && !names.includes(client)) {
    throw new SightlineError('usage', `unknown client ${JSON.stringify(client)}; allowed: ${names.join(', ')}`);
  }
  const config = readConfig(flags);
  const { analytics } = layoutOf(config.folder);
  if (!existsSync(analytics)) {
    throw new SightlineError('no_data', `workspace ${config.name} has no data in ${config.folder}`);
  }
  const lines = Object.entries(clients).map(([name, { title, line }]) => ({
    client: name,
    title,
    line: line(analytics),
  }));
  if (flags.json === true) {
    const chosen = Object.fromEntries(lines.map(({ client: name, line }) => [name, line]));
    printData(JSON.stringify({ path: analytics, clients: chosen }));
  } else if (client !== undefined) printData(lines.find(({ client: name }) => name === client)?.line ?? '');
  else {
    for (const { title, line } of lines) printData(`${title}\n  ${line}\n`);
    say('The file is replaced after each sync: reopen it to see new data. Always open it read-only.');
  }
  return EXIT.done;
}
