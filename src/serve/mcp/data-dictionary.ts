import type { Catalogue } from '../../contract/catalogue.ts';
import { fieldsOf } from './describe-tool.ts';
import { answerParts, type Tool, type ToolSet } from './tool.ts';

/** Returns the data dictionary as Markdown: tools with arguments and fields, tables with columns. */
export function describeData(catalogue: Catalogue, tools: ToolSet): string {
  const parts = [
    '# Data dictionary',
    'The results of the tools, and the tables that store them. Times and days are UTC; any field may be null, and there may be fields that are not listed here.',
    '## Tools',
    ...[...tools.values()].flatMap((tool) => describeTool(catalogue, tool)),
    '## Tables',
    'Fields of the API are columns in snake_case. The API no longer lists a row with `_deleted_at`.',
    ...[...catalogue.tables, ...catalogue.histories].flatMap(({ name, about, columns, key }) => [
      `### ${name}`,
      `${about} Key: ${key.join(', ') || 'none'}.`,
      table(
        ['column', 'type', 'meaning'],
        columns.map((column) => [`\`${column.name}\``, column.kind, column.about]),
      ),
    ]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function describeTool(catalogue: Catalogue, { definition, resource }: Tool): string[] {
  const { properties = {}, required = [] } = definition.inputSchema as {
    properties?: Record<string, Record<string, unknown>>;
    required?: readonly string[];
  };
  const inputs = Object.entries(properties).map(([name, schema]) => [
    `\`${name}\`${required.includes(name) ? ' (required)' : ''}`,
    allowedOf(schema),
    String(schema['description'] ?? ''),
  ]);
  const outputs = answerParts(catalogue, resource).flatMap(({ list, fields, beside }) => [
    ...fieldsOf(beside),
    ...fieldsOf(fields, list === null ? '' : `${list}[].`),
  ]);
  return [
    `### ${definition.name}`,
    resource.about,
    ...(inputs.length === 0 ? [] : [table(['argument', 'allowed', 'meaning'], inputs)]),
    table(
      ['field', 'meaning'],
      outputs.map(({ name, about }) => [`\`${name}\``, about]),
    ),
  ];
}

function allowedOf(schema: Readonly<Record<string, unknown>>): string {
  const { type, format, enum: values, minimum, maximum, default: standard } = schema;
  const bounds = maximum === undefined ? '' : ` ${String(minimum)} to ${String(maximum)}`;
  const allowed = Array.isArray(values) ? values.join(', ') : `${String(format ?? type)}${bounds}`;
  return standard === undefined ? allowed : `${allowed}; default ${String(standard)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
