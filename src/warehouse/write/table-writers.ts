import { type Catalogue, childrenOf, detailsOf, type Resource } from '../../contract/catalogue.ts';
import type { Values } from '../../contract/rows.ts';
import { type ResourceTable, toColumnName } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { quoted } from '../schema.ts';
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
  const listed = catalogue.resources
    .filter((resource) => writeModeOf(resource) === 'rows')
    .flatMap(({ derived }) => derived.map(({ name }) => name));
  for (const resource of catalogue.resources) {
    const details = detailsOf(catalogue, resource.name).flatMap((detail) => detail.derived);
    for (const table of resource.derived) {
      const name = `${resource.name}/${table.name}`;
      const own = details.filter((detail) => detail.name === table.name);
      const history = historyOf(table.name);
      const isOnly = listed.filter((other) => other === table.name).length <= 1;
      const options = { hasDetails: own.length > 0, isOnly };
      writers.set(name, createTableWriter(table, writeModeOf(resource), options, history));
      tombstoneWriters.set(name, createTombstoneWriter(table, [table, ...own], history));
    }
  }
  for (const parent of catalogue.resources) {
    const [table] = parent.derived;
    const below = childrenOf(catalogue, parent.name);
    if (table === undefined || below.length === 0) continue;
    const name = `${parent.name}/${table.name}`;
    const own = tombstoneWriters.get(name) as TombstoneWriter;
    const mark = async (session: Session, keys: readonly Values[], at: string): Promise<number> => {
      const marked = await own.mark(session, keys, at);
      for (const child of marked === 0 ? [] : below) {
        for (const { name: list } of child.derived) {
          // Looked up here, because the child may be a parent too.
          const tombstones = tombstoneWriters.get(`${child.name}/${list}`) as TombstoneWriter;
          await tombstones.markWhere(session, orphaned(table, child), at);
        }
      }
      return marked;
    };
    tombstoneWriters.set(name, {
      ...own,
      mark,
      markWhere: async (session, condition, at) => mark(session, await own.findWhere(session, condition), at),
    });
  }
  return {
    rowsOf: (resource, table) => writers.get(`${resource}/${table}`) as TableWriter,
    tombstonesOf: (resource, table) => tombstoneWriters.get(`${resource}/${table}`) as TombstoneWriter,
  };
}

// Condition on a row `t` of a list below `table`: the row above it is not live.
function orphaned(table: ResourceTable, { parent, scope }: Resource): string {
  const links = Object.entries(parent?.parameters ?? {}).map(
    ([parameter, column]) => `CAST(p.${quoted(column)} AS VARCHAR) = t.${quoted(toColumnName(parameter))}`,
  );
  if (scope === 'brand' && table.fixed.includes('brand_id')) links.push('p.brand_id = t.brand_id');
  return `NOT EXISTS (SELECT 1 FROM ${quoted(table.name)} p WHERE p."_deleted_at" IS NULL AND ${links.join(' AND ')})`;
}

function writeModeOf(resource: Resource): WriteMode {
  if (resource.change.kind === 'value') return 'series';
  return resource.change.kind === 'detail' ? 'detail' : 'rows';
}
