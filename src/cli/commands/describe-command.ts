import { EXIT, SightlineError } from '../../base/errors.ts';
import { type DescribedTable, describeTables, tableKinds, toMarkdown } from '../../operations/dictionary.ts';
import { printData, say } from '../output/output.ts';
import { formatRows } from '../output/row-format.ts';

/** Flags of `describe`. */
export interface DescribeFlags {
  readonly json?: boolean;
  readonly markdown?: boolean;
}

/** Runs `sightline describe`: lists the tables, or describes the columns of one. Needs no data. */
export async function describe(name: string | undefined, flags: DescribeFlags): Promise<number> {
  if (flags.markdown === true && flags.json === true) {
    throw new SightlineError('usage', '--markdown cannot be combined with --json');
  }
  const tables = await describeTables();
  const chosen = name === undefined ? tables : [find(tables, name)];
  if (flags.json === true) printData(JSON.stringify(name === undefined ? chosen : chosen[0]));
  else if (flags.markdown === true) printData(toMarkdown(chosen));
  else if (name === undefined) list(tables);
  else show(chosen[0] as DescribedTable);
  return EXIT.done;
}

function find(tables: readonly DescribedTable[], name: string): DescribedTable {
  const wanted = name.toLowerCase().replace(/^main\./, '');
  const found = tables.find((table) => table.name === wanted);
  if (found !== undefined) return found;
  const near = tables.filter(
    (table) => table.name.includes(wanted) || wanted.includes(table.name.split('.').at(-1) ?? ''),
  );
  const named = (near.length > 0 ? near : tables).map((table) => table.name).join(', ');
  throw new SightlineError('usage', `unknown table ${JSON.stringify(name)}; allowed: ${named}`);
}

function list(tables: readonly DescribedTable[]): void {
  for (const [kind, { title }] of Object.entries(tableKinds)) {
    const rows = tables.filter((table) => table.kind === kind).map(({ name, about }) => [name, about]);
    printData(`${title}\n${formatRows({ columns: columnsOf('name', 'description'), rows }, 'table')}\n`);
  }
  say('`sightline describe TABLE` describes its columns.');
}

function show({ name, about, key, columns }: DescribedTable): void {
  const keyed = key.length === 0 ? '' : `\nKey: ${key.join(', ')}.`;
  const rows = columns.map((column) => [column.name, column.type, column.about]);
  printData(
    `${name}: ${about}${keyed}\n${formatRows({ columns: columnsOf('column', 'type', 'description'), rows }, 'table')}`,
  );
}

function columnsOf(...names: string[]): { name: string; type: string }[] {
  return names.map((name) => ({ name, type: 'VARCHAR' }));
}
