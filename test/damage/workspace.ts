import { cpSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { runCommand } from '../support/run-command.ts';
import { copyWorld, startWorldSandbox, worldClock } from '../support/worlds.ts';

/** Result of a command. */
export interface Ended {
  readonly command: string;
  readonly code: number | null;
  readonly text: string;
}

/** A workspace folder with files that a test may damage. */
export interface DamagedCopy {
  readonly folder: string;
  /** The workspace's folder within the data folder. */
  readonly data: string;
  run(...argv: string[]): Promise<Ended>;
  remove(): Promise<void>;
}

/** A workspace after a sync and an export, to make copies of. */
export interface Template {
  /** Checks that the tables of a repaired copy equal upstream. */
  expectRepaired(patient: DamagedCopy): Promise<void>;
  /** Makes a copy, which is removed when the test ends. */
  copy(): Promise<DamagedCopy>;
  close(): Promise<void>;
}

/** DuckDB writes into these files in place; every other file is replaced by rename. */
const WRITTEN_IN_PLACE = /^warehouse\.duckdb|\.log$|owner\.json$/;

/** Makes the template from the world `tiny`; `prepare` runs last. */
export async function makeTemplate(
  prepare?: (patient: DamagedCopy, sandbox: WorkspaceSandbox) => Promise<void>,
): Promise<Template> {
  const sandbox = await startWorldSandbox('tiny');
  const original = at(await makeFolder());
  await copyWorld('tiny', original.folder);
  rmSync(join(original.folder, 'data', '.budgets'), { recursive: true, force: true });
  const settings = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(original.folder, '.env'), lines.join(''), { mode: 0o600 });
  await prepare?.(original, sandbox);
  return {
    expectRepaired: async ({ data }) => {
      const reader = await openReader(join(data, 'analytics.duckdb'));
      const query = async (sql: string) => {
        const { columns, rows } = await reader.query(sql);
        return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])));
      };
      try {
        await expectEqualToUpstream({ sandbox, catalogue, query });
      } finally {
        reader.close();
      }
    },
    copy: async () => {
      const copied = at(await makeFolder());
      onTestFinished(copied.remove);
      copyFolder(original.folder, copied.folder);
      return copied;
    },
    close: async () => {
      await sandbox.close();
      await original.remove();
    },
  };
}

function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'sightline-damage-'));
}

function at(folder: string): DamagedCopy {
  return {
    folder,
    data: join(folder, 'data', 'default'),
    run: async (...argv) => {
      const { code, stdout, stderr } = await runCommand(argv, { cwd: folder, clock: worldClock() });
      return { command: `sightline ${argv.join(' ')}`, code, text: stdout + stderr };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
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
