import { EXIT } from '../../base/errors.ts';
import type { DestinationLoad, LoadProgress } from '../../operations/load.ts';
import { count, duration, plural, printData, say } from './output.ts';

/** Progress of a load. */
export function loadLine({ destination, done, of }: LoadProgress): string {
  return `${destination}: ${count(done)} of ${plural(of, 'table')} loaded`;
}

/** Prints the result of each destination. */
export function renderLoads(loads: readonly DestinationLoad[], json: boolean): void {
  for (const { name, kind, status, tables, elapsedMs, error } of loads) {
    if (error !== undefined) {
      say(`${name} (${kind}): ${error.message}\n${error.hint}`);
      continue;
    }
    const sum = (of: 'rows' | 'inserted' | 'updated' | 'deleted'): number =>
      tables.reduce((total, table) => total + table[of], 0);
    const [inserted, updated, deleted] =
      status === 'compared' ? ['to insert', 'to update', 'to delete'] : ['inserted', 'updated', 'deleted'];
    const changes = `${count(sum('inserted'))} ${inserted}, ${count(sum('updated'))} ${updated}, ${count(sum('deleted'))} ${deleted}`;
    const what =
      status === 'unchanged' ? status : `${plural(tables.length, 'table')}, ${plural(sum('rows'), 'row')}: ${changes}`;
    const line = `${name} (${kind}): ${what} in ${duration(elapsedMs)}`;
    if (json) say(line);
    else printData(line);
  }
}

/** Returns the exit code of loads: 1 if one of them failed. */
export function exitOfLoads(loads: readonly DestinationLoad[]): number {
  return loads.some(({ status }) => status === 'failed') ? EXIT.failed : EXIT.done;
}
