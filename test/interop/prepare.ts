import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What a client is installed from: pinned packages of Python or npm, or files of Maven Central. */
export type Source =
  | { readonly kind: 'python'; readonly requirements: string }
  | { readonly kind: 'npm'; readonly folder: string }
  | { readonly kind: 'maven'; readonly files: MavenFiles };

/** SHA-256 of archives of Maven Central by coordinates, such as `org.duckdb:duckdb_jdbc:1.5.6.0`; a classifier comes last. */
export type MavenFiles = Readonly<Record<string, string>>;

/** Result of a command. */
export interface Ended {
  readonly code: number | null;
  readonly text: string;
}

/** Thrown if this machine lacks a piece that a client needs; the client is not tried. */
export class MissingPiece extends Error {}

/** Folder of installed clients, which later runs use again. */
export const CACHE = process.env['INTEROP_CACHE'] ?? join(tmpdir(), 'sightline-interop');
const HERE = import.meta.dirname;
const MAVEN = 'https://repo1.maven.org/maven2';
/** Time limit of an installation or a generator. */
const INSTALL_MS = 1_200_000;
/** Characters of an installer's error message. */
const MESSAGE_MAX = 1_000;
/** End of a command's output that is kept for messages. */
const TEXT_MAX = 20_000;
/** Errors of package managers that come from the network, not from the packages. */
const UNREACHABLE =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|Failed to establish a new connection|Name or service not known|Temporary failure in name resolution|No route to host|dial tcp|fetch failed/;

/** Checks that a program exists. @throws MissingPiece */
export async function requireProgram(command: string): Promise<void> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  if (!folders.some((folder) => existsSync(join(folder, command)))) throw new MissingPiece(`no \`${command}\``);
}

/** Installs a source into the cache once, and returns its folder. @throws MissingPiece */
export async function install(source: Source, signal: AbortSignal): Promise<string> {
  if (source.kind === 'maven') return installMaven(join(CACHE, 'maven'), source.files, signal);
  const pinned =
    source.kind === 'python'
      ? join(HERE, 'requirements', `${source.requirements}.txt`)
      : join(HERE, 'node', source.folder, 'package.json');
  const hash = createHash('sha256')
    .update(await readFile(pinned))
    .digest('hex');
  const name = source.kind === 'python' ? source.requirements : source.folder;
  const place = join(CACHE, source.kind, `${name}-${hash.slice(0, 12)}`);
  const mark = join(place, '.installed');
  if (existsSync(mark)) {
    if (source.kind === 'npm') await copyPrograms(source.folder, place);
    return place;
  }
  await rm(place, { recursive: true, force: true });
  await mkdir(place, { recursive: true });
  if (source.kind === 'python') {
    await requirePython();
    const made = await run('python3', ['-m', 'venv', place], { limitMs: INSTALL_MS, signal });
    if (made.code !== 0) throw new MissingPiece(`no \`python3 -m venv\``);
    const flags = ['install', '--quiet', '--no-deps', '--disable-pip-version-check', '--requirement', pinned];
    await installer(join(place, 'bin/pip'), flags, place, signal);
  } else {
    await copyPrograms(source.folder, place);
    await installer('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], place, signal);
  }
  await writeFile(mark, '');
  return place;
}

async function requirePython(): Promise<void> {
  await requireProgram('python3');
  const { code } = await run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))'], {
    limitMs: INSTALL_MS,
  });
  if (code !== 0) throw new MissingPiece('no Python 3.11 or newer');
}

// Programs are copied beside their modules, which Node finds from the folder of the importing file.
async function copyPrograms(folder: string, place: string): Promise<void> {
  await cp(join(HERE, 'node', folder), place, { recursive: true });
  for (const shared of ['report.mjs', 'mcp-tools.mjs']) await cp(join(HERE, 'node', shared), join(place, shared));
}

async function installer(command: string, args: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  const { code, text } = await run(command, args, { cwd, limitMs: INSTALL_MS, signal });
  if (code === 0) return;
  if (UNREACHABLE.test(text))
    throw new MissingPiece(`the package registry of ${command.split('/').at(-1)} is unreachable`);
  throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${text.slice(0, MESSAGE_MAX)}`);
}

/** Fetches files into a folder once, and returns the folder. @throws MissingPiece */
export async function installMaven(place: string, files: MavenFiles, signal: AbortSignal): Promise<string> {
  await mkdir(place, { recursive: true });
  for (const [coordinates, sha256] of Object.entries(files)) {
    const target = join(place, archiveOf(coordinates));
    if (existsSync(target)) continue;
    const [group = '', name, version] = coordinates.split(':');
    const path = [group.replaceAll('.', '/'), name, version, archiveOf(coordinates)].join('/');
    const response = await fetch(`${MAVEN}/${path}`, { signal }).catch((thrown: unknown) => {
      throw new MissingPiece('Maven Central is unreachable', { cause: thrown });
    });
    if (!response.ok) throw new Error(`Maven Central returned ${response.status} for ${path}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== sha256) throw new Error(`${path} has SHA-256 ${found}; expected ${sha256}`);
    await writeFile(`${target}.part`, bytes);
    await rename(`${target}.part`, target);
  }
  return place;
}

/** Returns the paths of files in a folder of `install`. */
export function mavenPaths(place: string, files: MavenFiles): string[] {
  return Object.keys(files).map((coordinates) => join(place, archiveOf(coordinates)));
}

function archiveOf(coordinates: string): string {
  const [, ...parts] = coordinates.split(':');
  return `${parts.join('-')}.jar`;
}

/** Runs a command and returns its exit code and the end of its output. */
export function run(
  command: string,
  args: readonly string[],
  given: {
    readonly cwd?: string;
    readonly env?: NodeJS.ProcessEnv;
    readonly limitMs: number;
    readonly signal?: AbortSignal;
  },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { cwd, env = process.env, limitMs, signal } = given;
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
      ...(signal === undefined ? {} : { signal }),
    });
    let text = '';
    const keep = (chunk: Buffer): void => {
      text = `${text}${chunk}`.slice(-TEXT_MAX);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, text }));
  });
}
