import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { version as duckdb } from '@duckdb/node-api';

const FILE = 'docs/figures.md';

/** Replaces a section of docs/figures.md with a command's output, the date and the machine. Throws if the section does not exist. */
export async function writeFigures(title: string, command: string, lines: readonly string[]): Promise<void> {
  const text = await readFile(FILE, 'utf8');
  const heading = `## ${title}\n`;
  const start = text.indexOf(heading);
  if (start < 0) throw new Error(`${FILE} has no section ${title}`);
  const next = text.indexOf('\n## ', start);
  const rest = next < 0 ? '' : text.slice(next + 1);
  const section = [heading, origin(command), '', ...lines, ''].join('\n');
  await writeFile(FILE, `${text.slice(0, start)}${section}${rest === '' ? '' : `\n${rest}`}`);
}

function origin(command: string): string {
  const date = new Date().toISOString().slice(0, 10);
  const [cpu] = cpus();
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const machine = `${availableParallelism()} cores (${cpu?.model.trim() ?? 'unknown'}), ${memory}`;
  return `Written by \`${command}\` on ${date}: ${machine}, Node ${process.versions.node}, DuckDB ${duckdb()}.`;
}
