// `npm run test:interop [-- CLIENT...]`: runs real clients against a served workspace and its files.
//
// Each client is a program in its own process. It compares what it reads with figures counted from the pages of upstream, and
// writes its version and checks as JSON. A client whose pieces are missing is NOT TRIED; the last line counts them. A failed
// check fails the run. Results are merged into results.json, from which `npm run docs` writes the table of docs/bi.md.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Client, clients } from './clients.ts';
import { CACHE, install, MissingPiece, mavenPaths, requireProgram, run } from './prepare.ts';
import {
  type Check,
  type Entry,
  isFailure,
  mergeEntries,
  type Outcome,
  outcomeLines,
  summaryLine,
  type Written,
} from './results.ts';
import { openWorld, type World } from './world.ts';

const RESULTS = join(import.meta.dirname, 'results.json');
/** Modules with the engine that writes Iceberg tables. */
const ENGINE = { kind: 'npm', folder: 'iceberg-engine' } as const;
/** Time limit of a client's program. */
const PROGRAM_MS = 1_800_000;

const wanted = process.argv.slice(3);
const unknown = wanted.filter((name) => !clients.some((client) => client.name === name));
if (unknown.length > 0)
  throw new Error(`no client ${unknown.join(', ')}; there are: ${clients.map(({ name }) => name).join(', ')}`);
process.exitCode = await runClients(clients.filter(({ name }) => wanted.length === 0 || wanted.includes(name)));

async function runClients(chosen: readonly Client[]): Promise<number> {
  await mkdir(CACHE, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'sightline-interop-run-'));
  const engine = await unlessMissing(() => install(ENGINE));
  const { world, close } = await openWorld(typeof engine === 'string' ? join(engine, 'node_modules') : null);
  const outcomes: Outcome[] = [];
  try {
    const worldFile = join(scratch, 'world.json');
    await writeFile(worldFile, JSON.stringify(world));
    for (const client of chosen) {
      const outcome = await tryClient(client, world, worldFile, scratch);
      outcomes.push(outcome);
      say(outcomeLines(outcome));
    }
  } finally {
    await close();
    await rm(scratch, { recursive: true, force: true });
  }
  const earlier = JSON.parse(await readFile(RESULTS, 'utf8')) as Entry[];
  const names = clients.map(({ name }) => name);
  const entries = mergeEntries(names, earlier, outcomes, new Date().toISOString().slice(0, 10));
  await writeFile(RESULTS, `${JSON.stringify(entries, null, 2)}\n`);
  say([summaryLine(outcomes)]);
  return outcomes.some(isFailure) ? 1 : 0;
}

async function tryClient(client: Client, world: World, worldFile: string, scratch: string): Promise<Outcome> {
  const { name } = client;
  try {
    for (const program of client.programs) await requireProgram(program);
    if (client.needsLake && world.lake === null) throw new MissingPiece('no engine that writes Iceberg tables (chdb)');
    const place = await install(client.source);
    const jars = mavenPaths(await install({ kind: 'maven', files: client.jars }), client.jars);
    const checks: Check[] = [];
    let version = '';
    for (const zone of client.zones) {
      const written = await runProgram(client.command(place), { worldFile, scratch, zone, jars });
      version = written.version;
      const named = (check: Check): Check => ({
        ...check,
        name: client.zones.length > 1 ? `${zone}: ${check.name}` : check.name,
      });
      checks.push(...written.checks.map(named));
    }
    return { name, kind: 'tried', version, checks };
  } catch (thrown) {
    if (thrown instanceof MissingPiece) return { name, kind: 'not tried', missing: thrown.message };
    return { name, kind: 'failed', message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

interface Surroundings {
  readonly worldFile: string;
  readonly scratch: string;
  readonly zone: string;
  readonly jars: readonly string[];
}

async function runProgram(command: readonly string[], given: Surroundings): Promise<Written> {
  const { worldFile, scratch, zone, jars } = given;
  const [program = '', ...args] = command;
  const cwd = await mkdtemp(join(scratch, 'client-'));
  const result = join(cwd, 'result.json');
  const env = {
    ...process.env,
    TZ: zone,
    PYTHONDONTWRITEBYTECODE: '1',
    INTEROP_WORLD: worldFile,
    INTEROP_RESULT: result,
    INTEROP_JARS: jars.join(delimiter),
    INTEROP_CACHE: CACHE,
    INTEROP_EXAMPLES: join(import.meta.dirname, '../../examples'),
  };
  const { code, text } = await run(program, args, { cwd, env, limitMs: PROGRAM_MS });
  if (code !== 0) throw new Error(`the program ended with ${code}: ${text}`);
  const written = JSON.parse(await readFile(result, 'utf8')) as Written;
  if (written.checks.length === 0) throw new Error('the program wrote no checks');
  return written;
}

async function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof MissingPiece)) throw thrown;
    say([`MISSING: Iceberg tables: ${thrown.message}`]);
    return null;
  }
}

function say(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
