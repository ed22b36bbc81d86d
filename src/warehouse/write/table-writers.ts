import { type Catalogue, detailsOf, type Resource } from '../../contract/catalogue.ts';
import { createHistoryWriter, type HistoryWriter, noHistory } from './history.ts';
import { createTombstoneWriter, type TombstoneWriter } from './tombstones.ts';
import { createTableWriter, type TableWriter, type WriteMode } from './upsert.ts';

/** Writers of the tables of all resources; several resources may write the same table. */
export interface TableWriters {
  rowsOf(resource: string, table: string): TableWriter;
  tombstonesOf(resource: string, table: string): TombstoneWriter;
}

/** Creates the writers of a catalogue's tables. */
export function createTableWriters(catalogue: Catalogue): TableWriters {
  const historyOf = (table: string): HistoryWriter => {
    const history = catalogue.histories.find(({ of }) => of === table);
    return history === undefined ? noHistory : createHistoryWriter(history);
  };
  const writers = new Map<string, TableWriter>();
  const tombstoneWriters = new Map<string, TombstoneWriter>();
  for (const resource of catalogue.resources) {
    const details = detailsOf(catalogue, resource.name).flatMap((detail) => detail.derived);
    for (const table of resource.derived) {
      const name = `${resource.name}/${table.name}`;
      const own = details.filter((detail) => detail.name === table.name);
      const history = historyOf(table.name);
      writers.set(name, createTableWriter(table, writeModeOf(resource), own.length > 0, history));
      tombstoneWriters.set(name, createTombstoneWriter(table, [table, ...own], history));
    }
  }
  return {
    rowsOf: (resource, table) => writers.get(`${resource}/${table}`) as TableWriter,
    tombstonesOf: (resource, table) => tombstoneWriters.get(`${resource}/${table}`) as TombstoneWriter,
  };
}

function writeModeOf(resource: Resource): WriteMode {
  if (resource.change.kind === 'value') return 'series';
  return resource.change.kind === 'detail' ? 'detail' : 'rows';
}
