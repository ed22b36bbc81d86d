import { type HistoryTable, historyTables } from './histories.ts';
import type { RangeTotals, ResourceDeclaration } from './resource.ts';
import {
  type ChildTable,
  type Column,
  deriveTables,
  detailColumns,
  engineColumns,
  type ResourceTable,
} from './tables.ts';

/** A resource with the tables derived from it. */
export interface Resource extends ResourceDeclaration {
  /** Tables that this resource fills. For a detail: the columns that it adds to its list's table. */
  readonly derived: readonly ResourceTable[];
}

/** A physical table of the warehouse. Several resources can fill it. */
export interface WarehouseTable {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  /** Time column of a window's table, used for pruning and partitioning by month; undefined for other tables. */
  readonly time: string | undefined;
}

/** All resources with the tables and histories that are derived from them. */
export interface Catalogue {
  readonly resources: readonly Resource[];
  readonly tables: readonly WarehouseTable[];
  /** Tables with earlier versions of the rows of other tables. */
  readonly histories: readonly HistoryTable[];
  /**
   * Returns the resource with this name.
   * @throws RangeError that lists the known names
   */
  get(name: string): Resource;
}

/**
 * Builds the catalogue from the declarations.
 * @throws TypeError if two declarations conflict
 */
export function createCatalogue(declarations: readonly ResourceDeclaration[]): Catalogue {
  const resources = declarations.map((declaration) => ({
    ...declaration,
    derived: deriveTables(declaration),
  }));
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  if (byName.size !== resources.length) throw new TypeError('two resources have the same name');
  const get = (name: string): Resource => {
    const resource = byName.get(name);
    if (resource === undefined) throw new RangeError(`no resource ${name}; allowed: ${[...byName.keys()].join(', ')}`);
    return resource;
  };
  for (const { name, change, derived } of resources) {
    if (change.kind === 'report' && change.eachDay !== undefined) checkTotals(name, derived, change.eachDay);
    if (change.kind === 'detail') get(change.of);
    if (change.kind === 'window' && change.census !== undefined) get(change.census.resource);
  }
  const tables = warehouseTables(resources);
  return { resources, tables, histories: historyTables(resources, tables), get };
}

/** Returns the detail resources that add columns to the rows of the list resource `name`. */
export function detailsOf(catalogue: Catalogue, name: string): Resource[] {
  return catalogue.resources.filter((resource) => resource.change.kind === 'detail' && resource.change.of === name);
}

/**
 * Returns the resource that lists the members of a scope, such as the brands of the workspace.
 * @throws TypeError if no resource does
 */
export function providerOf(catalogue: Catalogue, scope: 'brand'): Resource {
  const provider = catalogue.resources.find((resource) => resource.provides?.scope === scope);
  if (provider === undefined) throw new TypeError(`no resource provides the scope ${scope}`);
  return provider;
}

function checkTotals(name: string, derived: readonly ResourceTable[], { table, adds }: RangeTotals): void {
  const columns = derived.find((one) => one.name === table && one.extent.kind === 'range')?.columns ?? [];
  const missing = adds.filter((column) => columns.every((one) => one.name !== column));
  if (missing.length > 0 || adds.length === 0)
    throw new TypeError(`resource ${name}: ${table} is not a table by range with the columns ${adds.join(', ')}`);
}

function warehouseTables(resources: readonly Resource[]): WarehouseTable[] {
  const tables = new Map<string, WarehouseTable>();
  const add = (table: ResourceTable | ChildTable, time: string | undefined): void => {
    if (tables.has(table.name)) throw new TypeError(`table ${table.name} is declared twice`);
    tables.set(table.name, {
      name: table.name,
      about: table.about,
      columns: [...table.columns, ...engineColumns],
      key: table.key,
      time,
    });
  };
  const lists = resources.filter((resource) => resource.change.kind !== 'detail');
  for (const resource of lists) {
    for (const table of resource.derived) {
      const time = resource.change.kind === 'window' && table.extent.kind === 'time' ? table.extent.field : undefined;
      add(table, time);
      for (const child of table.children) add(child, child.columns.find((column) => column.name === time)?.name);
    }
  }
  for (const resource of resources.filter((candidate) => candidate.change.kind === 'detail')) {
    for (const table of resource.derived) {
      const list = tables.get(table.name);
      if (list === undefined)
        throw new TypeError(
          `detail ${resource.name} adds columns to ${table.name}, but no list resource fills that table`,
        );
      const own = table.columns.filter((column) => !list.columns.some((other) => other.name === column.name));
      const columns = list.columns.filter((column) => column.source.from !== 'engine');
      tables.set(table.name, {
        ...list,
        columns: [...columns, ...own, ...engineColumns, ...detailColumns],
      });
      for (const child of table.children) add(child, undefined);
    }
  }
  return [...tables.values()];
}
