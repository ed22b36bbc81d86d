import { type ChildProcess, fork } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { SightlineError } from '../../base/errors.ts';
import { installLine } from '../../base/optional-packages.ts';
import { type DataFile, readEngineManifest } from './manifests.ts';
import { engineType, type IcebergShape, toMetadata } from './metadata.ts';

/** The engine is ClickHouse as a library. */
const PACKAGE = 'chdb';
// When run from TypeScript sources, as in tests, start the built child: it runs without a TypeScript loader.
const CHILD = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/src/lake/iceberg/manifest-child.js' : './manifest-child.js',
    import.meta.url,
  ),
);
/** Memory limit of a statement, which then fails before the machine runs out of memory. */
const MEMORY_MAX_BYTES = 3 * 1024 ** 3;
/** Rows and bytes of a row group, buffered in memory. Text-heavy rows reach the byte limit first. */
const ROW_GROUP_ROWS = 122_880;
const ROW_GROUP_BYTES = 64 * 1024 ** 2;
const BLOCK_BYTES = 16 * 1024 ** 2;
const READ_AHEAD_BYTES = 256 * 1024 ** 2;
/** A statement that runs longer than this is stuck. A month of a million rows takes seconds. */
const STATEMENT_MS = 30 * 60_000;
/** Characters of the engine's error message and of its standard error that are passed on. */
const SAID_MAX = 400;
/** A path with any other character could be read as a glob pattern. */
const PLAIN_PATH = /^[\w/.+@=:, -]+$/;

const SETTINGS = [
  'allow_insert_into_iceberg = 1',
  // Record the addresses at which readers find the tables, not those of the local folder.
  'write_full_path_in_iceberg_metadata = 1',
  `max_memory_usage = ${MEMORY_MAX_BYTES}`,
  'max_threads = 1',
  'max_insert_threads = 1',
  'input_format_parquet_preserve_order = 1',
  // Rows are not buffered before they reach the file writer, which collects row groups by itself.
  `min_insert_block_size_bytes = ${BLOCK_BYTES}`,
  `input_format_parquet_memory_high_watermark = ${READ_AHEAD_BYTES}`,
  `output_format_parquet_row_group_size = ${ROW_GROUP_ROWS}`,
  `output_format_parquet_row_group_size_bytes = ${ROW_GROUP_BYTES}`,
  'output_format_parquet_parallel_encoding = 0',
];

/** A written data file and its local path until it is uploaded. */
export interface EngineFile extends DataFile {
  readonly file: string;
}

/**
 * Writes data files of Iceberg tables, split by size only. All methods throw `publish_failed` or the signal's reason.
 */
export interface IcebergEngine {
  /**
   * Writes the rows of the Parquet file `source`; `columns` have the types of snapshots. Calls run one after another.
   */
  write(
    shape: IcebergShape,
    columns: readonly { readonly name: string; readonly type: string }[],
    source: string,
  ): Promise<EngineFile[]>;
  close(): Promise<void>;
}

/**
 * Returns the path of the engine's package.
 * @throws `config_invalid` if it is not installed
 */
export function findEngine(): string {
  try {
    return createRequire(import.meta.url).resolve(PACKAGE);
  } catch (thrown) {
    const message = `publish.kind is "iceberg", but the package ${PACKAGE} is not installed; run \`${installLine('iceberg')}\` (566 MB; Linux and macOS)`;
    throw new SightlineError('config_invalid', message, { cause: thrown });
  }
}

/** Reports whether the engine reads the path of a folder literally, not as a pattern. */
export function isPlainPath(folder: string): boolean {
  return PLAIN_PATH.test(resolve(folder));
}

/** The running engine process. */
interface Running {
  readonly child: ChildProcess;
  readonly ask: (sql: string) => Promise<string>;
}

/** A table of the engine: empty at first, with the shape of the rows to write. */
interface EngineTable {
  readonly name: string;
  readonly path: string;
  /** Manifests that were already read. */
  readonly seen: Set<string>;
}

/**
 * Opens the engine; its process starts with the first write. It works in its own empty folder (see `isPlainPath`), gets
 * no environment variables, and opens no connection.
 * @throws `config_invalid` if the package is not installed
 */
export function openEngine(folder: string, signal: AbortSignal): IcebergEngine {
  const enginePath = findEngine();
  const root = resolve(folder);
  const tables = new Map<string, EngineTable>();
  let running: Running | null = null;
  let sources = 0;
  const open = async (shape: IcebergShape, { ask }: Running): Promise<EngineTable> => {
    const key = JSON.stringify(shape);
    const known = tables.get(key);
    if (known !== undefined) return known;
    const path = join(root, 'tables', String(tables.size));
    const table = { name: `lake.t${tables.size}`, path, seen: new Set('') };
    await mkdir(join(path, 'metadata'), { recursive: true });
    // The engine computes wrong months before 1970 and after 2299, so the table has no partition.
    const metadata = JSON.stringify(toMetadata({ ...shape, partition: null }, [], '', 0));
    await writeFile(join(path, 'metadata', 'v1.metadata.json'), metadata);
    await ask(`CREATE TABLE ${table.name} ENGINE = IcebergLocal(${text(path)})`);
    tables.set(key, table);
    return table;
  };
  const queue = new PQueue({ concurrency: 1 });
  const write: IcebergEngine['write'] = async (shape, columns, source) => {
    running ??= await start(enginePath, root, signal);
    const { name, path, seen } = await open(shape, running);
    const link = join(root, 'sources', `${sources++}.parquet`);
    await symlink(resolve(source), link);
    const structure = columns.map((column) => `${identifier(column.name)} Nullable(${engineType(column.type)})`);
    const names = columns.map((column) => identifier(column.name)).join(', ');
    const from = `file(${text(link)}, 'Parquet', ${text(structure.join(', '))})`;
    await running.ask(`INSERT INTO ${name} (${names}) SELECT ${names} FROM ${from}`);
    await rm(link);
    const found = await readManifests(join(path, 'metadata'), seen);
    return found.map((file) => ({ ...file, file: join(path, 'data', basename(file.path)) }));
  };
  return {
    write: (...given) => queue.add(() => write(...given)),
    close: async () => {
      if (running !== null) await end(running.child);
    },
  };
}

async function start(enginePath: string, root: string, signal: AbortSignal): Promise<Running> {
  for (const name of ['engine', 'sources', 'tables']) await mkdir(join(root, name), { recursive: true });
  const child = fork(CHILD, [enginePath, join(root, 'engine')], {
    env: {},
    execArgv: [],
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const ask = talkTo(child, signal);
  try {
    await ask(`SET ${SETTINGS.join(', ')}`);
    await ask('CREATE DATABASE lake');
    return { child, ask };
  } catch (thrown) {
    await end(child);
    throw thrown;
  }
}

// Every statement adds manifests. Files called snap-… are manifest lists.
async function readManifests(folder: string, seen: Set<string>): Promise<DataFile[]> {
  const files: DataFile[] = [];
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.avro') || name.startsWith('snap-') || seen.has(name)) continue;
    seen.add(name);
    try {
      files.push(...readEngineManifest(await readFile(join(folder, name))));
    } catch (thrown) {
      const message = `cannot read a manifest that the Iceberg engine wrote: ${name} ${(thrown as Error).message}`;
      throw new SightlineError('publish_failed', message, { cause: thrown });
    }
  }
  return files;
}

// Returns a function that runs one statement at a time.
function talkTo(child: ChildProcess, signal: AbortSignal): (sql: string) => Promise<string> {
  let stderrEnd = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    stderrEnd = (stderrEnd + bytes.toString()).slice(-SAID_MAX);
  });
  const ended = new Promise<string>((settle) => {
    child.once('error', ({ message }) => settle(message));
    child.once('exit', (code, killedBy) => settle(`ended with ${killedBy ?? code} ${stderrEnd}`.trim()));
  });
  return async (sql) => {
    signal.throwIfAborted();
    const stop = (): void => void child.kill('SIGKILL');
    const late = setTimeout(stop, STATEMENT_MS);
    signal.addEventListener('abort', stop, { once: true });
    let receive: (answer: { result?: string; error?: string }) => void = () => undefined;
    const answered = new Promise<{ result?: string; error?: string }>((settle) => {
      receive = settle;
      child.once('message', receive);
    });
    try {
      if (child.connected) child.send(sql, () => undefined);
      const answer = await Promise.race([answered, ended.then((how) => ({ error: `its process ${how}` }))]);
      if (!('error' in answer) || answer.error === undefined) return ('result' in answer && answer.result) || '';
      signal.throwIfAborted();
      const detail = answer.error.replaceAll(/\s+/g, ' ').slice(0, SAID_MAX);
      throw new SightlineError('publish_failed', `the Iceberg engine failed: ${detail}`);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
      child.off('message', receive);
    }
  };
}

// Kills the process, because its remaining state is not needed.
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((settle) => child.once('exit', settle));
  child.kill('SIGKILL');
  await gone;
}

function text(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function identifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
