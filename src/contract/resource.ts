import { type Fields, metaOf } from './fields.ts';
import type { Parameters } from './parameters.ts';

/**
 * Position of a table's rows in the body: the list with this name, or the body itself as one item. The name may be a path of
 * members, such as `data.items`.
 */
export type Position = { readonly list: string } | 'body';

/**
 * Rows that a complete read of a resource covers; a covered row that is missing from the read was deleted. `scope`: all rows
 * of the scope. `range`: rows stored for the requested range. `time`: rows whose `field` lies within the requested range.
 */
export type Extent =
  | { readonly kind: 'scope' }
  | { readonly kind: 'range' }
  | { readonly kind: 'time'; readonly field: string };

/** Declaration of a table: position of its rows in the body, and their fields. */
export interface TableDeclaration {
  readonly name: string;
  readonly about: string;
  readonly at: Position;
  readonly fields: Fields;
  /**
   * Fields, or request columns such as a row mode, that identify a row within its scope. Empty for lists without identifying
   * fields: a row is then identified by its content, and equal rows by their number. One object per request has the key `object`.
   */
  readonly key: readonly string[];
  /**
   * Fields that identify an item of a list without a key, if it has them. Equal identities are numbered, so that no item is lost.
   * Default: the complete item.
   */
  readonly identity?: readonly string[];
  /** Key fields that may be null, such as the competitor in the brand's own row. */
  readonly nullableKey?: readonly string[];
  /** Default: `scope`. Must be `time` for a window. */
  readonly extent?: Extent;
  /** Fields of the body outside the list, copied to each row, such as `responses` of metrics. */
  readonly beside?: Fields;
  /** Fields that change by themselves, such as the time of a check. A change in these fields alone creates no history version. */
  readonly incidental?: readonly string[];
  /** Field with the item exactly as upstream sent it, for items of unknown form. The read server returns this field. */
  readonly whole?: string;
  /** Converts an item of unknown form to the declared fields. Other fields are stored in `_extra`. */
  readonly normalize?: (item: unknown) => unknown;
  /** Returns the values of the derived columns of an item, by field. */
  readonly derive?: (item: unknown) => Readonly<Record<string, unknown>>;
}

/** How a resource changes, which determines how it is synced. */
export type Change =
  /** Full list: read completely each time. A missing row was deleted. */
  | { readonly kind: 'set' }
  /**
   * Paged scan: all pages are read, and a missing row was deleted. With `settled`, rows never change once they exist: then
   * only new rows are read, and all pages from time to time.
   */
  | { readonly kind: 'walk'; readonly settled?: true }
  /** Window: items with a time, read by ranges of days. `dayCounts` declares the source of the day counts. */
  | { readonly kind: 'window'; readonly dayCounts?: DayCounts }
  /** Singleton: one object, stored as a series with a new row whenever it changes. */
  | { readonly kind: 'value' }
  /** Detail: one request per row of the list `of`; adds columns to that list's table. */
  | { readonly kind: 'detail'; readonly of: string; readonly parameter: string }
  /** Report: numbers that upstream computes for a range of days: the last 30 days, or the full history in long ranges. */
  | {
      readonly kind: 'report';
      readonly span: 'recent' | 'history';
      /** Totals that the API sends once per body. Their values on single days are requested too. */
      readonly eachDay?: RangeTotals;
    };

/** Totals of a report: a table with one row per requested range. */
export interface RangeTotals {
  readonly table: string;
  /**
   * Columns whose values on single days are needed, because the rows of the report do not have them. They may add up over
   * days: a sync subtracts them as long as upstream's own numbers do. Unique counts and averages do not.
   */
  readonly adds: readonly string[];
}

/** Source of a window's day counts: column `count` of `table`, which is repeated for each entity of a day. */
export interface DayCounts {
  readonly resource: string;
  readonly table: string;
  readonly day: string;
  readonly count: string;
  /** Columns over which counts are summed, after the repeats are removed. */
  readonly per: readonly string[];
  /** Only rows with these values count. */
  readonly where: Readonly<Record<string, string>>;
}

/** A parameter that is requested with each of its allowed values; the value is stored in `column`. */
export interface Each {
  readonly parameter: string;
  readonly column: string;
  readonly about: string;
  /**
   * Fields that identify a row, by parameter value, for values that aggregate rows. Rows with repeated fields prove that
   * upstream ignored the parameter; the body is then rejected.
   */
  readonly unique?: Readonly<Record<string, readonly string[]>>;
}

/**
 * The rows of another list for each of which this resource is requested, such as the groups of each campaign. The values of the
 * path parameters become columns of the rows, named like the parameters in snake_case.
 */
export interface Parent {
  readonly resource: string;
  /** Columns of the parent's table with the values, by path parameter. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The parameter for the number of items per page, and the number to request. */
interface PageSize {
  readonly parameter: string;
  readonly max: number;
}

/**
 * How an API splits a list into pages: the body has a cursor at the path `next`, such as `paging.next`, that `parameter` takes for the
 * next page.
 */
export interface Pages {
  readonly parameter: string;
  readonly next: string;
  readonly size?: PageSize;
}

/** Whether an endpoint with this kind of change lists all of its rows in every read. */
export function isListChange({ kind }: Change): boolean {
  return kind === 'set' || kind === 'walk';
}

/** Numbers that src/metrics computes from the responses and visits in the warehouse. */
export type Computation = 'by-nothing' | 'by-day' | 'by-prompt' | 'by-group' | 'domains' | 'pages' | 'visits';

/** Declaration of one endpoint. Tables, requests, routes and documents are derived from it. */
export interface ResourceDeclaration {
  /** Name in snake_case, used by `--only`, progress and the ledger. */
  readonly name: string;
  /** Place in documents and menus, in ascending order; default: after the others, by file name. */
  readonly position?: number;
  /** One sentence. */
  readonly about: string;
  readonly scope: 'workspace' | 'brand';
  /** Path relative to the base URL, parameters in braces. */
  readonly path: string;
  /** Whether the read server splits the list into pages with the parameters `limit` and `cursor`. */
  readonly paging: 'single' | 'cursor';
  /** How upstream splits the list into pages; default: like the read server. */
  readonly pages?: Pages;
  readonly parent?: Parent;
  /** Whether upstream lacks the list for some brands: 404 for a list without stored rows then means that it is empty. */
  readonly mayBeMissing?: true;
  readonly change: Change;
  /** Query parameters of the endpoint in the order of the specification. */
  readonly query: Parameters;
  /** Parameters that every read of the resource sends. */
  readonly ask?: Readonly<Record<string, string>>;
  readonly each?: Each;
  /** Upstream's names of the parameters for the range of days; default: `from` and `to`. */
  readonly rangeParameters?: { readonly from: string; readonly to: string };
  /** Set if the declaration was inferred from upstream's OpenAPI document and responses. */
  readonly generic?: true;
  /**
   * Largest loss of one read that is stored without confirmation: `share` of the rows, for lists of more than `rows` rows.
   * Default: the bounds in src/contract/plausibility/mass-deletion.ts.
   */
  readonly maxLoss?: { readonly share: number; readonly rows: number };
  /** Maximum items of a list that is requested without a limit; default: src/contract/plausibility/page-work.ts. */
  readonly itemsMax?: number;
  readonly tables: readonly TableDeclaration[];
  /** Sort order: field names, with a leading `-` for descending. Default: upstream's order. */
  readonly order?: readonly string[];
  /** Earliest plausible day of an item; default: src/contract/plausibility/item-times.ts. */
  readonly earliest?: string;
  /** Query parameters whose resolved values the response repeats, in order. */
  readonly echoes?: readonly string[];
  /**
   * Set if days are those of a time zone that upstream does not name. The newest range is requested without `to`; the echoed days
   * show the zone.
   */
  readonly zone?: 'echoed';
  /** Set if the specification does not define whether the list is bare or wrapped. */
  readonly envelopeUnknown?: true;
  /** Computation with which the read server answers; default: it returns the stored rows. */
  readonly computes?: Computation;
  /** Set if this resource lists the brands: fields with the id of a brand, its name and its first day with data. */
  readonly provides?: {
    readonly id: string;
    readonly name: string;
    readonly since: string;
  };
  /** MCP tool name. */
  readonly tool: string;
  /** When to use the tool rather than a similar one, for models. One or two sentences. */
  readonly use?: string;
}

/**
 * Validates and freezes a declaration.
 * @throws TypeError with the resource and the problem
 */
export function defineResource(declaration: ResourceDeclaration): ResourceDeclaration {
  const fail = (problem: string): never => {
    throw new TypeError(`resource ${declaration.name}: ${problem}`);
  };
  if (!/^[a-z][a-z0-9_]*$/.test(declaration.name)) fail('the name must be snake_case');
  const inPath = [...declaration.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
  const known = new Set(declaration.scope === 'brand' ? ['brandId'] : []);
  if (declaration.change.kind === 'detail') known.add(declaration.change.parameter);
  for (const parameter of Object.keys(declaration.parent?.parameters ?? {})) {
    if (!inPath.includes(parameter)) fail(`the parent's parameter ${parameter} is not in the path`);
    known.add(parameter);
  }
  for (const parameter of inPath) if (!known.has(parameter)) fail(`the path parameter {${parameter}} has no value`);
  if (declaration.paging === 'cursor' && declaration.query['cursor'] === undefined)
    fail('the cursor parameter is missing');
  const { each, change } = declaration;
  const isList = isListChange(change);
  if (declaration.parent !== undefined && !isList) fail('only a full list or a paged scan can have a parent');
  if (declaration.pages !== undefined && !isList && change.kind !== 'report')
    fail('only a full list, a paged scan or a report can declare pages');
  if (each !== undefined && declaration.query[each.parameter]?.values === undefined) {
    fail(`the parameter ${each.parameter} of each must be declared with values`);
  }
  if (declaration.zone === 'echoed' && declaration.echoes?.includes('to') !== true)
    fail('the zone needs the echo of to');
  for (const name of declaration.echoes ?? []) {
    if (declaration.query[name] === undefined) fail(`the echoed parameter ${name} is not declared`);
  }
  for (const table of declaration.tables) {
    const isIdentified = table.key.length > 0 || (table.identity ?? []).length > 0 || table.extent?.kind === 'range';
    if (!isList && change.kind !== 'value' && !isIdentified) fail(`table ${table.name} has no key`);
    for (const field of Object.values({ ...table.fields, ...table.beside })) metaOf(field);
    for (const key of table.key) {
      const field = table.fields[key];
      if (field === undefined && key !== each?.column) fail(`table ${table.name} has no field ${key}`);
      if (field !== undefined && metaOf(field).as !== 'column')
        fail(`key ${key} of table ${table.name} is not a scalar column`);
    }
    for (const name of table.incidental ?? []) {
      if (table.fields[name] === undefined || table.key.includes(name))
        fail(`table ${table.name} has no non-key field ${name}`);
    }
    if (change.kind === 'window' && table.extent?.kind !== 'time') fail(`table ${table.name} has no time extent`);
    const time = table.extent?.kind === 'time' ? table.extent.field : undefined;
    if (time !== undefined && table.fields[time] === undefined) fail(`table ${table.name} has no field ${time}`);
  }
  return Object.freeze(declaration);
}
