import { queryWorkspace } from '../../app.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { readConfig, type WorkspaceFlags } from '../context.ts';
import { FORMATS, formatRows } from '../format.ts';
import { printData } from '../output.ts';

/** Flags of `sql`. */
export interface SqlFlags extends WorkspaceFlags {
  readonly format?: string;
}

/** Runs `sightline sql` and returns its exit code. */
export async function sql(query: string, flags: SqlFlags): Promise<number> {
  const wanted = flags.format ?? (flags.json === true ? 'json' : 'table');
  const format = FORMATS.find((candidate) => candidate === wanted);
  if (format === undefined) {
    throw new SightlineError('usage', `--format is ${JSON.stringify(wanted)}; allowed: ${FORMATS.join(', ')}`);
  }
  if (query.trim() === '') throw new SightlineError('usage', 'the query is empty');
  printData(formatRows(await queryWorkspace(readConfig(flags), query), format));
  return EXIT.done;
}
