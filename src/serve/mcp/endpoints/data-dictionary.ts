import type { Catalogue } from '../../../contract/catalogue.ts';
import { tableName } from '../../../operations/sql/sql-schema.ts';
import type { SqlTable } from '../../../web/page-data/sql-data.ts';
import { fieldsOf } from './describe-tool.ts';
import { answerParts } from './endpoint-shape.ts';
import type { EndpointTool } from './endpoint-tool.ts';

/** URIs of the descriptions of a tool and of a table. */
export const TOOL_URI = 'sightline://tool/';
export const TABLE_URI = 'sightline://table/';

/** The description of a tool or table in the data dictionary. */
export interface Entry {
  readonly name: string;
  readonly about: string;
  /** Returns its fields or columns as Markdown. */
  text(): string;
}

/** Returns the entries of the data dictionary by URI: one for each tool, and one for each table. */
export function dictionaryOf(catalogue: Catalogue, tools: readonly EndpointTool[]): ReadonlyMap<string, Entry> {
  const ofTools = tools.map((tool): [string, Entry] => {
    const { name, resource } = tool;
    const { about } = resource;
    return [`${TOOL_URI}${name}`, { name, about, text: () => describeResult(catalogue, tool) }];
  });
  const ofTables = [...catalogue.tables, ...catalogue.histories].map(
    ({ name, about, columns, key }): [string, Entry] => {
      const rows = columns.map((column) => [`\`${column.name}\``, column.kind, column.about]);
      const text = (): string =>
        page(name, `${about} Key: ${key.join(', ') || 'none'}.`, table(['column', 'type', 'meaning'], rows));
      return [`${TABLE_URI}${name}`, { name, about, text }];
    },
  );
  return new Map([...ofTools, ...ofTables]);
}

/** Describes a table or view of the replica as Markdown. */
export function tableText(of: SqlTable): string {
  const rows = of.columns.map(({ name, type, about }) => [`\`${name}\``, type, about ?? '']);
  return page(tableName(of), of.about ?? '', table(['column', 'type', 'meaning'], rows));
}

/** Returns the contents of the data dictionary as Markdown. */
export function describeIndex(entries: ReadonlyMap<string, Entry>): string {
  const listOf = (uri: string): string[] =>
    [...entries].flatMap(([of, { name, about }]) => (of.startsWith(uri) ? [`- \`${name}\`: ${about}`] : []));
  return [
    '# Data dictionary',
    '',
    `\`${TOOL_URI}{name}\` has the fields of a tool's result, \`${TABLE_URI}{name}\` the columns of a table. Times and days are UTC;`,
    'any field may be null, and there may be fields that are not listed. Fields of the API are columns in snake_case. The API no',
    'longer lists a row with `_deleted_at`.',
    '',
    '## Tools',
    '',
    ...listOf(TOOL_URI),
    '',
    '## Tables',
    '',
    ...listOf(TABLE_URI),
    '',
  ].join('\n');
}

function describeResult(catalogue: Catalogue, { name: tool, about, resource }: EndpointTool): string {
  const fields = answerParts(catalogue, resource).flatMap(({ list, fields, beside }) => [
    ...fieldsOf(beside),
    ...fieldsOf(fields, list === null ? '' : `${list}[].`),
  ]);
  const rows = fields.map(({ name, about }) => [`\`${name}\``, about]);
  return page(tool, about, table(['field', 'meaning'], rows));
}

function page(title: string, about: string, content: string): string {
  return `# ${title}\n\n${about}\n\n${content}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
