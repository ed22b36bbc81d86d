import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { declaredJobs } from '../../jobs/all.ts';
import { declarations } from '../../schemas/catalogue.ts';
import { EXAMPLES, EXPORT_FORMATS, exportFiles } from '../../src/analytics/exports/metrics-exports.ts';
import { errorTable } from '../../src/base/errors.ts';
import { OPTIONAL_PACKAGES } from '../../src/base/optional-packages.ts';
import { type JsonName, jsonOutputs, jsonSchemaOf, printedBy, schemaFile } from '../../src/cli/json/json-outputs.ts';
import { createProgram } from '../../src/cli/program/program.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { describeTables, toMarkdown } from '../../src/operations/dictionary.ts';
import { STEP_KINDS, type Step } from '../../src/scheduler/job.ts';
import { builtInCatalogue } from '../../src/session/catalogues.ts';
import { conversationsText, questionRows, readResults, summaryText } from '../evaluation/results.ts';
import { clients, isToolClient } from '../interop/clients.ts';
import { type Entry, entryCells } from '../interop/results.ts';
import { toManual } from './manual.ts';
import { toReference } from './reference.ts';

const root = join(import.meta.dirname, '../..');

/** Returns the pages that `npm run docs` writes, by path: generated ones, and others with their generated lists replaced. */
export async function docsPages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['docs/data-dictionary.md', toMarkdown(await describeTables(builtInCatalogue))],
    ['docs/cli.md', toReference(await createProgram())],
    ['docs/man/sightline.1', toManual(await createProgram())],
    ['docs/analyst.md', replaceLists('docs/analyst.md', { tables: tableNames() })],
    ['docs/agents.md', replaceLists('docs/agents.md', agentsLists())],
    ['docs/bi.md', replaceLists('docs/bi.md', { clients: clientsTable() })],
    ['docs/operator/jobs.md', replaceLists('docs/operator/jobs.md', { jobs: jobsTable(), steps: stepsTable() })],
    ['docs/json/README.md', replaceLists('docs/json/README.md', { outputs: outputsTable() })],
    ...jsonSchemas(),
    ...metricsExports(),
    ['docs/operator/install.md', replaceLists('docs/operator/install.md', { packages: packagesTable() })],
    ['docs/operator/errors.md', replaceLists('docs/operator/errors.md', { errors: errorsTable() })],
  ]);
}

/** Replaces the text between `<!-- generated: name -->` and `<!-- end -->`, which must occur once for each list. */
function replaceLists(path: string, lists: Readonly<Record<string, string>>): string {
  let page = readFileSync(join(root, path), 'utf8');
  for (const [name, text] of Object.entries(lists)) {
    const [before, rest, ...more] = page.split(`<!-- generated: ${name} -->\n`);
    const end = rest?.indexOf('<!-- end -->') ?? -1;
    if (rest === undefined || more.length > 0 || end < 0) throw new Error(`${path} has no single list ${name}`);
    page = `${before}<!-- generated: ${name} -->\n${text}\n${rest.slice(end)}`;
  }
  return page;
}

function tableNames(): string {
  const lines = [''];
  for (const { name } of createCatalogue(declarations).tables) {
    const line = `${lines.at(-1)} \`${name}\``.trim();
    if (line.length <= 120) lines[lines.length - 1] = line;
    else lines.push(`\`${name}\``);
  }
  return lines.join('\n');
}

function clientsTable(): string {
  const rows = clients.map(({ name, tool, tried }) => {
    const [version, date, result] = cellsOf(name);
    return [tool, version, date, tried, result];
  });
  return markdownTable(['tool', 'version', 'date', 'what was tried', 'result'], rows);
}

function cellsOf(name: string): [string, string, string] {
  const entries = JSON.parse(readFileSync(join(root, 'test/interop/results.json'), 'utf8')) as Entry[];
  const entry = entries.find(({ client }) => client === name);
  if (entry === undefined) throw new Error(`test/interop/results.json has no client ${name}`);
  return entryCells(entry);
}

function agentsLists(): Readonly<Record<string, string>> {
  const tested = clients.filter(isToolClient).map(({ name, tool }) => [tool, ...cellsOf(name)]);
  const results = readResults();
  const head = ['question', 'tools', 'calls', 'tokens', 'calls, endpoints', 'tokens, endpoints', 'endpoints lack'];
  return {
    'mcp-clients': markdownTable(['tool', 'version', 'date', 'result'], tested),
    'evaluation-summary': summaryText(results),
    evaluation: markdownTable(head, questionRows(results)),
    conversations: conversationsText(results),
  };
}

function jobsTable(): string {
  const rows = declaredJobs.map(({ name, cron, about, catchUp, steps }) => [
    `\`${name}\``,
    `\`${cron.text}\``,
    catchUp ? about : `${about} Missed runs are not caught up.`,
    steps.map(stepText).join('; '),
  ]);
  return markdownTable(['job', 'cron (UTC)', 'effect', 'steps'], rows);
}

function stepText(step: Step): string {
  if (step.do !== 'sync') return `\`${step.do}\``;
  const { maxRequests, maxMinutes } = step.allowance ?? {};
  const limits = [
    ...(step.full === true ? ['full'] : []),
    ...(step.only === undefined ? [] : [step.only.map((name) => `\`${name}\``).join(', ')]),
    ...(maxRequests === undefined ? [] : [`at most ${maxRequests} requests`]),
    ...(maxMinutes === undefined ? [] : [`at most ${maxMinutes} minutes`]),
  ];
  return limits.length === 0 ? '`sync`' : `\`sync\` (${limits.join(', ')})`;
}

function stepsTable(): string {
  const rows = Object.entries(STEP_KINDS).map(([step, options]) => [
    `\`${step}\``,
    options.map((option) => `\`${option}\``).join(', '),
  ]);
  return markdownTable(['step', 'options'], rows);
}

const jsonNames = Object.keys(jsonOutputs) as JsonName[];

function jsonSchemas(): [string, string][] {
  return jsonNames.map((name) => [`docs/json/${schemaFile(name)}`, `${JSON.stringify(jsonSchemaOf(name), null, 2)}\n`]);
}

function metricsExports(): [string, string][] {
  return EXPORT_FORMATS.flatMap((format) =>
    [...exportFiles(format)].map(([path, text]): [string, string] => [`${EXAMPLES[format]}/${path}`, text]),
  );
}

function outputsTable(): string {
  const rows = jsonNames.map((name) => [printedBy(name), `[${schemaFile(name)}](${schemaFile(name)})`]);
  return markdownTable(['printed by', 'schema'], rows);
}

function packagesTable(): string {
  const rows = Object.entries(OPTIONAL_PACKAGES).map(([use, packages]) => [use, `\`${packages.join(' ')}\``]);
  return markdownTable(['for', 'packages'], rows);
}

function errorsTable(): string {
  const rows = Object.entries(errorTable).map(([code, kind]) => [
    `\`${code}\``,
    String(kind.exit),
    'status' in kind ? String(kind.status) : '',
    kind.about,
  ]);
  return markdownTable(['code', 'exit', 'HTTP', 'when'], rows);
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n');
}
