import type { SqlTable } from '../../../../page-data/sql-data.ts';
import { FUNCTIONS, KEYWORDS } from './duckdb-dialect.ts';

/** A proposal of the editor. */
export interface Proposal {
  readonly label: string;
  /** Inserted text, if it is not the label. */
  readonly apply?: string;
  readonly type: 'keyword' | 'function' | 'type' | 'property' | 'namespace';
  /** Text after the label: type or schema. */
  readonly detail?: string;
  /** The comment of the table or column. */
  readonly info?: string;
  /** Proposals with a higher value are listed first. */
  readonly boost?: number;
}

export interface Completion {
  /** Position at which the replaced word begins. */
  readonly from: number;
  readonly options: readonly Proposal[];
}

const WORD = /(?:("?[\w]+"?)\.)?(?:("?[\w]+"?)\.)?("?\w*)$/;
// The alias is looked at only, because the word may be the FROM of a list of columns.
const SOURCE = /(?:\bfrom|\bjoin|,)\s+([\w."]+)(?:(?=\s+(?:as\s+)?("?\w+"?))|)/gi;
const IS_PLAIN = /^[a-z_][a-z0-9_]*$/;
const COLUMNS_FIRST = 3;

const WORDS: readonly Proposal[] = [
  ...KEYWORDS.split(/\s+/).map((word): Proposal => ({ label: word.toUpperCase(), type: 'keyword' })),
  ...FUNCTIONS.split(/\s+/).map((word): Proposal => ({ label: word, apply: `${word}(`, type: 'function', boost: -1 })),
];
const RESERVED = new Set(KEYWORDS.split(/\s+/));

/** Returns the names that complete the word before `position`; null if there is no word and `isExplicit` is false. */
export function proposeNames(
  text: string,
  position: number,
  tables: readonly SqlTable[],
  isExplicit: boolean,
): Completion | null {
  const [, first, second, word = ''] = WORD.exec(text.slice(0, position)) ?? [];
  const from = position - word.length;
  const parent = bare(second ?? first);
  if (parent === null) {
    if (word === '' && !isExplicit) return null;
    return { from, options: [...columnsOf(sourcesOf(text, tables).values()), ...allTables(tables), ...WORDS] };
  }
  const inSchema = second === undefined ? tables.filter(({ schema }) => schema === parent) : [];
  if (inSchema.length > 0)
    return { from, options: inSchema.map((table) => ({ ...tableProposal(table), apply: quoted(table.name) })) };
  const table = second === undefined ? sourcesOf(text, tables).get(parent) : undefined;
  const named =
    table ??
    tables.find(({ schema, name }) => name === parent && (second === undefined || schema === bare(first ?? '')));
  return named === undefined ? null : { from, options: columnsOf([named]) };
}

/** Returns a name as it must be written in SQL. */
export function quoted(name: string): string {
  return IS_PLAIN.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Returns the name of a table as it must be written in SQL; tables of `main` need no schema. */
export function tableName({ schema, name }: SqlTable): string {
  return schema === 'main' ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
}

// Tables of the query by alias and by name.
function sourcesOf(text: string, tables: readonly SqlTable[]): ReadonlyMap<string, SqlTable> {
  const found = new Map<string, SqlTable>();
  for (const [, path = '', alias] of text.matchAll(SOURCE)) {
    const parts = path.split('.').map((part) => bare(part) ?? '');
    const name = parts.at(-1);
    const schema = parts.length > 1 ? parts.at(-2) : 'main';
    const table = tables.find((each) => each.name === name && each.schema === schema);
    if (table === undefined) continue;
    found.set(table.name, table);
    const known = bare(alias);
    if (known !== null && !RESERVED.has(known)) found.set(known, table);
  }
  return found;
}

function columnsOf(tables: Iterable<SqlTable>): Proposal[] {
  const columns = new Map<string, Proposal>();
  for (const table of new Set(tables)) {
    for (const { name, type, about } of table.columns) {
      if (columns.has(name)) continue;
      columns.set(name, {
        label: name,
        apply: quoted(name),
        type: 'property',
        detail: type,
        boost: COLUMNS_FIRST,
        ...(about === null ? {} : { info: about }),
      });
    }
  }
  return [...columns.values()];
}

function allTables(tables: readonly SqlTable[]): Proposal[] {
  const schemas = [...new Set(tables.map(({ schema }) => schema))];
  return [
    ...tables.map(tableProposal),
    ...schemas.map((schema): Proposal => ({ label: schema, type: 'namespace', detail: 'schema' })),
  ];
}

function tableProposal(table: SqlTable): Proposal {
  return {
    label: table.name,
    apply: tableName(table),
    type: 'type',
    detail: `${table.kind} in ${table.schema}`,
    boost: table.schema === 'sync' ? 0 : 1,
    ...(table.about === null ? {} : { info: table.about }),
  };
}

function bare(name: string | undefined): string | null {
  return name === undefined || name === '' ? null : name.replaceAll('"', '').toLowerCase();
}
