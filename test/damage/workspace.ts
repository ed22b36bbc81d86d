import { cpSync, linkSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { readEnvironment } from '../../src/base/config/environment.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { parseArguments } from '../../src/cli/program/program.ts';
import { runArguments } from '../../src/cli/run-arguments.ts';
import { makeFolder } from '../cli/helpers.ts';
import { readTables, type Tables } from '../hostile/attack.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';

/** Result of a command. */
export interface Ended {
  readonly command: string;
  readonly code: number;
  readonly text: string;
}

/** A workspace folder with files that a test may damage. */
export interface DamagedCopy {
  readonly folder: string;
  /** The workspace's folder within the data folder. */
  readonly data: string;
  /** Runs a command in this process, as the owner of a workspace does for other processes. */
  run(...argv: string[]): Promise<Ended>;
  remove(): Promise<void>;
}

/** A workspace after a sync, an export and another sync, to make copies of. */
export interface Template {
  /** Its tables, which every repaired copy must equal. */
  readonly tables: Tables;
  /** Base URL of its upstream. */
  readonly baseUrl: string;
  copy(): Promise<DamagedCopy>;
  close(): Promise<void>;
}

const KEY = 'gsk_sandbox_0000000000000000000000000000';
/** DuckDB writes into these files in place; every other file is replaced by rename. */
const WRITTEN_IN_PLACE = /^warehouse\.duckdb|\.log$|owner\.json$/;

/** Makes the template; `prepare` runs last. */
export async function makeTemplate(prepare: (patient: DamagedCopy) => Promise<void>): Promise<Template> {
  const sandbox = await startStillSandbox({ brands: 1, prompts: 2, days: 3 });
  const at = (folder: string): DamagedCopy => ({
    folder,
    data: join(folder, 'data', 'default'),
    run: (...argv) => runHere(folder, argv),
    remove: () => rm(folder, { recursive: true, force: true }),
  });
  const original = at(await makeFolder());
  const settings = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: KEY };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(original.folder, '.env'), lines.join(''), { mode: 0o600 });
  for (const argv of [['sync'], ['export']]) await expectDone(original.run(...argv));
  sandbox.advance({ days: 0, lateAnswers: 2, editedResponses: 1, deletedResponses: 1 });
  await expectDone(original.run('sync'));
  await prepare(original);
  return {
    tables: await readTables(original.folder),
    baseUrl: sandbox.baseUrl,
    copy: async () => {
      const folder = await makeFolder();
      copyFolder(original.folder, folder);
      return at(folder);
    },
    close: async () => {
      await sandbox.close();
      await original.remove();
    },
  };
}

async function expectDone(running: Promise<Ended>): Promise<void> {
  const { command, code, text } = await running;
  if (code !== 0) throw new Error(`\`${command}\` ended with ${code}: ${text}`);
}

async function runHere(folder: string, argv: readonly string[]): Promise<Ended> {
  const chunks: Buffer[] = [];
  const stream = () =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk);
        done();
      },
    });
  const terminal = { stdout: stream(), stderr: stream(), isHosted: true, folder };
  const code = await withTerminal(terminal, () =>
    runArguments(parseArguments, argv, ({ action }) =>
      withTerminal({ environment: readEnvironment(folder) }, () => action(new AbortController().signal)),
    ),
  );
  return { command: `sightline ${argv.join(' ')}`, code, text: Buffer.concat(chunks).toString() };
}

// Hard links suffice for files that are only replaced; a copy then needs a tenth of the space.
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target);
    else if (entry.isFile() && !WRITTEN_IN_PLACE.test(entry.name)) linkSync(source, target);
    else cpSync(source, target, { verbatimSymlinks: true, preserveTimestamps: true });
  }
}

/** Follows an instruction of an error message: runs a `sightline` command or moves a file. */
export async function follow(patient: DamagedCopy, instruction: string): Promise<Ended> {
  const argv = wordsOf(instruction);
  const [program, ...rest] = argv;
  if (program === 'mv') {
    renameSync(rest[0] as string, rest[1] as string);
    return { command: instruction, code: 0, text: '' };
  }
  if (program !== 'sightline') throw new Error(`no command: ${instruction}`);
  // A person would confirm on the terminal.
  return patient.run(...rest, ...(rest[0] === 'restore' ? ['--yes'] : []));
}

/**
 * Returns the instructions in backticks of an error message, or of the advice for the doctor's first failure, in order.
 */
export function instructionsOf(text: string): string[] {
  const lines = text.split('\n');
  const failure = lines.findIndex((line) => line.startsWith('failure'));
  const line = failure < 0 ? lines.find((candidate) => candidate.startsWith('sightline: ')) : lines[failure + 1];
  return [...(line ?? '').matchAll(/`((?:sightline|mv) [^`]+)`/g)].map((match) => match[1] as string);
}

function wordsOf(line: string): string[] {
  return [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll("'\\''", "'") ?? plain ?? '',
  );
}
