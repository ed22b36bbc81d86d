import { type HistoryTable, historyTables } from './histories.ts';
import type { ResourceDeclaration } from './resource.ts';
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
  /** Tables this resource fills; for a detail, the part of its list's table that it fills. */
  readonly derived: readonly ResourceTable[];
}

/** A physical table of the warehouse, whichever resources fill it. */
export interface WarehouseTable {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  /** Column by which large tables are pruned and partitioned by month, where the table holds items of a window. */
  readonly time: string | undefined;
}

/** All resources, and what follows from them together. */
export interface Catalogue {
  readonly resources: readonly Resource[];
  readonly tables: readonly WarehouseTable[];
  /** The tables that keep what the rows of others were. */
  readonly histories: readonly HistoryTable[];
  /** Throws a RangeError that lists the known names when there is no such resource. */
  get(name: string): Resource;
}

/** Builds the catalogue; throws a TypeError where declarations contradict each other. */
export function createCatalogue(declarations: readonly ResourceDeclaration[]): Catalogue {
  const resources = declarations.map((declaration) => ({
    ...declaration,
    derived: deriveTables(declaration),
  }));
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  if (byName.size !== resources.length) throw new TypeError('two resources have the same name');
  const get = (name: string): Resource => {
    const resource = byName.get(name);
    if (resource === undefined) throw new RangeError(`no resource ${name}; known: ${[...byName.keys()].join(', ')}`);
    return resource;
  };
  for (const { change } of resources) {
    if (change.kind === 'detail') get(change.of);
    if (change.kind === 'window' && change.census !== undefined) get(change.census.resource);
  }
  const tables = warehouseTables(resources);
  return { resources, tables, histories: historyTables(resources, tables), get };
}

/** The detail resources that add to the rows of the list resource `name`. */
export function detailsOf(catalogue: Catalogue, name: string): Resource[] {
  return catalogue.resources.filter((resource) => resource.change.kind === 'detail' && resource.change.of === name);
}

/** The resource that lists the members of a scope, such as the workspace's brands. */
export function providerOf(catalogue: Catalogue, scope: 'brand'): Resource {
  const provider = catalogue.resources.find((resource) => resource.provides?.scope === scope);
  if (provider === undefined) throw new TypeError(`no resource provides the scope ${scope}`);
  return provider;
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
      if (list === undefined) throw new TypeError(`detail ${resource.name} adds to ${table.name}, which no list fills`);
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
