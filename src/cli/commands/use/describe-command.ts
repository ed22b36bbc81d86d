import { listWorkspaces } from '../../../base/config/workspace-names.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { Catalogue } from '../../../contract/catalogue.ts';
import type { DescribedTable, TableKinds } from '../../../operations/dictionary.ts';
import { loadSettings, readSurroundings } from '../../context.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag } from '../../program/option-kinds.ts';

export const describe = defineCommand({
  arguments: { name: argument('[table]', 'a table or view, such as mart.visibility_weekly') },
  options: { json: flag('print the result as JSON'), markdown: flag('print the result as Markdown') },
  examples: [
    ['sightline describe', 'list the tables and views'],
    ['sightline describe mart.visibility_weekly', 'describe the columns of a view'],
  ],
  run: async ({ name, markdown, ...unread }, begin) => {
    const { json } = begin(unread);
    if (markdown && json) throw new SightlineError('usage', '--markdown cannot be combined with --json');
    const { describeTables, findTable, tableKinds, toMarkdown } = await import('../../../operations/dictionary.ts');
    const tables = await describeTables(await catalogueHere());
    const chosen = name === null ? tables : [findTable(tables, name)];
    if (json) {
      if (name === null) printJson('describe', chosen);
      else printJson('describe table', chosen[0] as DescribedTable);
    } else if (markdown) printData(toMarkdown(chosen));
    else if (name === null) list(tables, tableKinds);
    else show(chosen[0] as DescribedTable);
    return EXIT.done;
  },
});

// The command works without settings, and then describes the tables of this package.
async function catalogueHere(): Promise<Catalogue> {
  const { builtInCatalogue, catalogueOf } = await import('../../../workspace/catalogues.ts');
  const { environment, folder } = readSurroundings();
  return listWorkspaces({ environment, folder }).length > 1 && (environment['SIGHTLINE_WORKSPACE'] ?? '') === ''
    ? builtInCatalogue
    : catalogueOf(await loadSettings({}));
}

function list(tables: readonly DescribedTable[], kinds: TableKinds): void {
  for (const [kind, { title }] of Object.entries(kinds)) {
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
