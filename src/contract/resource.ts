import { type Fields, metaOf } from './fields.ts';
import type { Parameters } from './parameters.ts';

/** Where a table's rows stand in the body: a list under this name, or the body itself as one item. */
export type Position = { readonly list: string } | 'body';

/**
 * Which rows one whole read of a resource accounts for, so that a row missing from it is known to be gone:
 * all rows of its scope, those of the requested range, or those whose time or day lies within that range.
 */
export type Extent =
  | { readonly kind: 'scope' }
  | { readonly kind: 'range' }
  | { readonly kind: 'time'; readonly field: string };

/** A table, declared: where its rows stand in the body and which fields they have. */
export interface TableDeclaration {
  readonly name: string;
  readonly about: string;
  readonly at: Position;
  readonly fields: Fields;
  /** Fields (or columns of the request, such as a row mode) that identify a row within its scope. */
  readonly key: readonly string[];
  /** Key fields where null is a value like another, such as the competitor of the brand's own row. */
  readonly nullableKey?: readonly string[];
  /** Default: the scope. A window's extent must be its time. */
  readonly extent?: Extent;
  /** Fields beside the list, repeated on each of its rows: `responses` of a metrics answer. */
  readonly beside?: Fields;
  /** Fields that move by themselves, such as the time of a check: where nothing else changed, history has no new version. */
  readonly incidental?: readonly string[];
  /** The field that holds an item exactly as upstream sent it, where its form is unknown: it is served from there. */
  readonly whole?: string;
  /** Brings an item of unknown form into the declared one; what it leaves out is still kept in `_extra`. */
  readonly normalize?: (item: unknown) => unknown;
}

/** How a resource changes, and therefore how it is read. */
export type Change =
  /** The full list each time; an absent row is a deletion. */
  | { readonly kind: 'set' }
  /**
   * All pages; an absent row is a deletion. Rows change in place, or, where `settled`, never once they are there: then
   * only what is new is read, and all pages now and then.
   */
  | { readonly kind: 'walk'; readonly settled?: true }
  /** Items with a time, the extent of their table, read by ranges of days; `census` counts each day's. */
  | { readonly kind: 'window'; readonly census?: Census }
  /** One object, kept as a series: a row whenever it differs from the one before. */
  | { readonly kind: 'value' }
  /** One request for each row of the list `of`; adds columns to that list's table. */
  | { readonly kind: 'detail'; readonly of: string; readonly parameter: string }
  /** Numbers that upstream computes for a range of days: the last 30, or the whole history in long ranges. */
  | {
      readonly kind: 'report';
      readonly span: 'recent' | 'history';
      /** Also ask for each single day from the first that has a row, because some numbers exist per answer only. */
      readonly eachDay?: true;
    };

/** The resource that counts a window's items: rows of `table`, whose `count` is repeated for each entity of a day. */
export interface Census {
  readonly resource: string;
  readonly table: string;
  readonly day: string;
  readonly count: string;
  /** Counts are summed over these after the repeats are taken out. */
  readonly per: readonly string[];
  /** Only rows with these values count. */
  readonly where: Readonly<Record<string, string>>;
}

/** A parameter whose every allowed value is asked for, one request each, and kept in a column. */
export interface Each {
  readonly parameter: string;
  readonly column: string;
  readonly about: string;
  /**
   * For a value that makes rows coarser: the fields that must then identify a row. Rows that repeat them show that
   * upstream ignored the parameter, and are not taken for what they are not.
   */
  readonly unique?: Readonly<Record<string, readonly string[]>>;
}

/** What src/metrics computes from the answers and visits in the warehouse. */
export type Computation = 'by-nothing' | 'by-day' | 'by-prompt' | 'by-group' | 'domains' | 'pages' | 'visits';

/** Everything sightline knows of one endpoint; tables, requests, routes and documents are derived from it. */
export interface ResourceDeclaration {
  /** snake_case; what `--only`, progress and the ledger call it. */
  readonly name: string;
  /** One sentence. */
  readonly about: string;
  readonly scope: 'workspace' | 'brand';
  /** Relative to the base URL, parameters in braces. */
  readonly path: string;
  readonly paging: 'single' | 'cursor';
  readonly change: Change;
  /** The endpoint's query parameters, as the specification lists them. */
  readonly query: Parameters;
  /** Parameters that every read of the resource sends. */
  readonly ask?: Readonly<Record<string, string>>;
  readonly each?: Each;
  /**
   * Largest loss of one read that is stored without confirmation: `share` of the rows, for lists of more than `rows` rows.
   * Default: the bounds in src/plausibility/mass-deletion.ts.
   */
  readonly maxLoss?: { readonly share: number; readonly rows: number };
  /** Items that a list may have if no limit is asked for; default: src/plausibility/page-work.ts. */
  readonly itemsMax?: number;
  readonly tables: readonly TableDeclaration[];
  /** Order of the list: fields, a leading `-` for descending. Without one the list keeps upstream's order. */
  readonly order?: readonly string[];
  /** Earliest day that a time of an item may lie on, where it differs from the default of src/plausibility/item-times.ts. */
  readonly earliest?: string;
  /** Query parameters whose resolved values the answer repeats, in order. */
  readonly echoes?: readonly string[];
  /** The specification shows the list but not whether it stands under its name or bare. */
  readonly envelopeUnknown?: true;
  /** How the read server answers, where not from the stored rows; by default, from them. */
  readonly computes?: Computation;
  /** This resource lists the members of a scope: their id, and since when each has data. */
  readonly provides?: {
    readonly scope: 'brand';
    readonly id: string;
    readonly since: string;
  };
  /** MCP tool name. */
  readonly tool: string;
}

/** Checks a declaration and freezes it; throws a TypeError that names what is wrong. */
export function defineResource(declaration: ResourceDeclaration): ResourceDeclaration {
  const fail = (what: string): never => {
    throw new TypeError(`resource ${declaration.name}: ${what}`);
  };
  if (!/^[a-z][a-z_]*$/.test(declaration.name)) fail('the name must be snake_case');
  const inPath = [...declaration.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
  const known = new Set(declaration.scope === 'brand' ? ['brandId'] : []);
  if (declaration.change.kind === 'detail') known.add(declaration.change.parameter);
  for (const parameter of inPath) if (!known.has(parameter)) fail(`nothing fills {${parameter}} of its path`);
  if (declaration.paging === 'cursor' && declaration.query['cursor'] === undefined) fail('it has no cursor parameter');
  const { each, change } = declaration;
  if (each !== undefined && declaration.query[each.parameter]?.values === undefined) {
    fail(`it has no parameter ${each.parameter} with a list of values`);
  }
  for (const name of declaration.echoes ?? []) {
    if (declaration.query[name] === undefined) fail(`it has no parameter ${name} to echo`);
  }
  for (const table of declaration.tables) {
    if (change.kind !== 'value' && table.key.length === 0 && table.extent?.kind !== 'range')
      fail(`table ${table.name} has no key`);
    for (const field of Object.values({ ...table.fields, ...table.beside })) metaOf(field);
    for (const key of table.key) {
      const field = table.fields[key];
      if (field === undefined && key !== each?.column) fail(`table ${table.name} has no field ${key}`);
      if (field !== undefined && metaOf(field).as !== 'column') fail(`key ${key} of ${table.name} is no column`);
    }
    for (const name of table.incidental ?? []) {
      if (table.fields[name] === undefined || table.key.includes(name))
        fail(`${table.name} has no field ${name} beside its key`);
    }
    if (change.kind === 'window' && table.extent?.kind !== 'time') fail(`table ${table.name} has no time extent`);
    const time = table.extent?.kind === 'time' ? table.extent.field : undefined;
    if (time !== undefined && table.fields[time] === undefined) fail(`table ${table.name} has no field ${time}`);
  }
  return Object.freeze(declaration);
}
