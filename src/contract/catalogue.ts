import type { ColumnKind } from './fields.ts';
import { type HistoryTable, historyTables } from './histories.ts';
import type { Parent, RangeTotals, ResourceDeclaration } from './resource.ts';
import {
  type ChildTable,
  type Column,
  deriveTables,
  detailColumns,
  engineColumns,
  engineColumnsOf,
  type ResourceTable,
  toColumnName,
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

/** A catalogue whose resources are replaced while it is in use. Readers must not keep its lists over an `await`. */
export interface LiveCatalogue extends Catalogue {
  /**
   * Replaces the resources.
   * @throws TypeError if two declarations conflict; the resources are then unchanged
   */
  replace(declarations: readonly ResourceDeclaration[]): void;
}

/** Creates a catalogue whose resources can be replaced. */
export function createLiveCatalogue(first: Catalogue): LiveCatalogue {
  let current = first;
  return {
    get resources() {
      return current.resources;
    },
    get tables() {
      return current.tables;
    },
    get histories() {
      return current.histories;
    },
    get: (name) => current.get(name),
    replace: (declarations) => {
      current = createCatalogue(declarations);
    },
  };
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
  checkDistinct(resources);
  const get = (name: string): Resource => {
    const resource = byName.get(name);
    if (resource === undefined) throw new RangeError(`no resource ${name}; allowed: ${[...byName.keys()].join(', ')}`);
    return resource;
  };
  for (const { name, change, parent, derived } of resources) {
    if (change.kind === 'report' && change.eachDay !== undefined) checkTotals(name, derived, change.eachDay);
    if (change.kind === 'detail') get(change.of);
    if (parent !== undefined) checkParent(name, get(parent.resource), parent);
    if (change.kind === 'window' && change.dayCounts !== undefined) get(change.dayCounts.resource);
  }
  const tables = warehouseTables(resources);
  checkColumns(tables);
  const histories = historyTables(resources, tables);
  checkHistoryNames(tables, histories);
  return { resources, tables, histories, get };
}

/** Returns the detail resources that add columns to the rows of the list resource `name`. */
export function detailsOf(catalogue: Catalogue, name: string): Resource[] {
  return catalogue.resources.filter((resource) => resource.change.kind === 'detail' && resource.change.of === name);
}

/** Returns the resources that are requested for each row of the list resource `name`. */
export function childrenOf({ resources }: Pick<Catalogue, 'resources'>, name: string): Resource[] {
  return resources.filter(({ parent }) => parent?.resource === name);
}

/** Returns the resource that lists the values of a path parameter. */
export function listerOf(catalogue: Catalogue, { change, parent }: Resource, parameter: string): Resource {
  if (change.kind === 'detail' && change.parameter === parameter) return catalogue.get(change.of);
  const column = parent?.parameters[parameter];
  if (parent === undefined || column === undefined) return brandListOf(catalogue);
  const above = catalogue.get(parent.resource);
  // A parameter of the parent's own path comes from the list above it.
  const passed = Object.keys(above.parent?.parameters ?? {}).find((name) => toColumnName(name) === column);
  return passed === undefined ? above : listerOf(catalogue, above, passed);
}

/** Returns the kind of the ids of a list's rows. */
export function idKindOf({ derived: [table] }: Resource): ColumnKind {
  const own = table?.key.filter((name) => !table.fixed.includes(name)) ?? [];
  return (own.length === 1 ? table?.columns.find(({ name }) => name === own[0])?.kind : undefined) ?? 'uuid';
}

/**
 * Returns the resource that lists the brands of the workspace.
 * @throws TypeError if no resource does
 */
export function brandListOf({ resources }: Pick<Catalogue, 'resources'>): Resource {
  const list = resources.find(({ provides }) => provides !== undefined);
  if (list === undefined) throw new TypeError('no resource lists the brands');
  return list;
}

function checkDistinct(resources: readonly ResourceDeclaration[]): void {
  const repeated = (values: readonly string[]): string | undefined =>
    values.find((value, index) => values.indexOf(value) !== index);
  const name = repeated(resources.map((resource) => resource.name));
  if (name !== undefined) throw new TypeError(`two resources have the name ${name}`);
  const path = repeated(resources.map((resource) => resource.path.replace(/\{\w+\}/g, '{}')));
  if (path !== undefined) throw new TypeError(`two resources have the path ${path}`);
  const tool = repeated(resources.map((resource) => resource.tool));
  if (tool !== undefined) throw new TypeError(`two resources have the tool ${tool}`);
}

// DuckDB compares names without case.
function checkColumns(tables: readonly WarehouseTable[]): void {
  for (const { name, columns } of tables) {
    const names = columns.map((column) => column.name.toLowerCase());
    const twice = names.find((column, index) => names.indexOf(column) !== index);
    if (twice !== undefined) throw new TypeError(`table ${name} has two columns ${twice}`);
  }
}

function checkHistoryNames(tables: readonly WarehouseTable[], histories: readonly HistoryTable[]): void {
  const taken = tables.find(({ name }) => histories.some((history) => history.name === name));
  if (taken !== undefined) throw new TypeError(`table ${taken.name} has the name of a history`);
}

function checkParent(name: string, { name: list, derived }: Resource, { parameters }: Parent): void {
  const columns = derived[0]?.columns.map((column) => column.name) ?? [];
  for (const [parameter, column] of Object.entries(parameters)) {
    if (columns.includes(column)) continue;
    throw new TypeError(`resource ${name}: {${parameter}} comes from ${list}.${column}, which does not exist`);
  }
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
      // The item of a parent row contains its child rows.
      columns: [...table.columns, ...('declaration' in table ? engineColumnsOf(table) : engineColumns)],
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
        columns: [...columns, ...own, ...engineColumnsOf(table), ...detailColumns],
      });
      for (const child of table.children) add(child, undefined);
    }
  }
  return [...tables.values()];
}
