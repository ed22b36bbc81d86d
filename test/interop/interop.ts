// `npm run test:interop [-- --minutes N] [CLIENT...]`: runs real clients against a served workspace and its files.
//
// Each client is a program in its own process. It compares what it reads with figures counted from the pages of upstream, and
// writes its version and checks as JSON. A client whose pieces are missing is NOT TRIED; the last line counts them. A failed
// check fails the run. Results are merged into results.json.
// With --minutes, clients that are not done in that time are NOT TRIED either, and results.json stays as it is.
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { metricflowFiles } from '../../src/metrics/exports/metricflow.ts';
import { startCatalog } from '../support/iceberg-catalog.ts';
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
/** Time limit of a client's program. */
const PROGRAM_MS = 1_800_000;

const { values, positionals: wanted } = parseArgs({
  args: process.argv.slice(3),
  options: { minutes: { type: 'string' } },
  allowPositionals: true,
});
const minutes = values.minutes === undefined ? null : Number(values.minutes);
if (minutes !== null && !(minutes > 0)) throw new Error(`--minutes is ${values.minutes}; allowed: a number above 0`);
const unknown = wanted.filter((name) => !clients.some((client) => client.name === name));
if (unknown.length > 0)
  throw new Error(`no client ${unknown.join(', ')}; there are: ${clients.map(({ name }) => name).join(', ')}`);
process.exitCode = await runClients(clients.filter(({ name }) => wanted.length === 0 || wanted.includes(name)));

async function runClients(chosen: readonly Client[]): Promise<number> {
  await mkdir(CACHE, { recursive: true });
  const limit = minutes === null ? new AbortController().signal : AbortSignal.timeout(minutes * 60_000);
  const scratch = await mkdtemp(join(tmpdir(), 'sightline-interop-run-'));
  const catalog = await startCatalog(join(scratch, 'lake'));
  if (typeof catalog === 'string') say([`MISSING: Iceberg tables: ${catalog}`]);
  const { world, close } = await openWorld(typeof catalog === 'string' ? null : catalog.url);
  const outcomes: Outcome[] = [];
  try {
    const worldFile = join(scratch, 'world.json');
    await writeFile(worldFile, JSON.stringify(world));
    await writeExamples(join(scratch, 'examples'));
    for (const client of chosen) {
      const startedAt = performance.now();
      const outcome = await tryClient(client, world, { worldFile, scratch, limit });
      outcomes.push(outcome);
      say(outcomeLines(outcome, (performance.now() - startedAt) / 1000));
    }
  } finally {
    await close();
    if (typeof catalog !== 'string') await catalog.close();
    await rm(scratch, { recursive: true, force: true });
  }
  say([summaryLine(outcomes)]);
  if (minutes === null) await writeResults(outcomes);
  return outcomes.some(isFailure) ? 1 : 0;
}

// The examples, with the files that `sightline metrics export` writes.
async function writeExamples(folder: string): Promise<void> {
  await cp(join(import.meta.dirname, '../../examples'), folder, { recursive: true });
  for (const [path, text] of metricflowFiles()) {
    const file = join(folder, 'dbt', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

async function writeResults(outcomes: readonly Outcome[]): Promise<void> {
  const earlier = JSON.parse(await readFile(RESULTS, 'utf8')) as Entry[];
  const names = clients.map(({ name }) => name);
  const entries = mergeEntries(names, earlier, outcomes, new Date().toISOString().slice(0, 10));
  const described = entries.map((entry, index) => ({
    ...entry,
    tool: clients[index]?.tool,
    tried: clients[index]?.tried,
  }));
  await writeFile(RESULTS, `${JSON.stringify(described, null, 2)}\n`);
}

interface Surroundings {
  readonly worldFile: string;
  readonly scratch: string;
  /** Ends the run. */
  readonly limit: AbortSignal;
}

async function tryClient(client: Client, world: World, given: Surroundings): Promise<Outcome> {
  const { name } = client;
  const { limit } = given;
  try {
    limit.throwIfAborted();
    for (const program of client.programs) await requireProgram(program);
    if (client.needsCatalog && world.catalog === null) throw new MissingPiece('no catalog with Iceberg tables');
    const place = await install(client.source, limit);
    const jars = mavenPaths(await install({ kind: 'maven', files: client.jars }, limit), client.jars);
    const checks: Check[] = [];
    let version = '';
    for (const zone of client.zones) {
      const written = await runProgram(client.command(place), { ...given, zone, jars });
      version = written.version;
      const named = (check: Check): Check => ({
        ...check,
        name: client.zones.length > 1 ? `${zone}: ${check.name}` : check.name,
      });
      checks.push(...written.checks.map(named));
    }
    return { name, kind: 'tried', version, checks };
  } catch (thrown) {
    if (limit.aborted) return { name, kind: 'not tried', missing: `no time left after ${minutes} minutes` };
    if (thrown instanceof MissingPiece) return { name, kind: 'not tried', missing: thrown.message };
    return { name, kind: 'failed', message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

async function runProgram(
  command: readonly string[],
  given: Surroundings & { readonly zone: string; readonly jars: readonly string[] },
): Promise<Written> {
  const { worldFile, scratch, limit, zone, jars } = given;
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
    INTEROP_EXAMPLES: join(scratch, 'examples'),
  };
  const { code, text } = await run(program, args, { cwd, env, limitMs: PROGRAM_MS, signal: limit });
  if (code !== 0) throw new Error(`the program ended with ${code}: ${text}`);
  const written = JSON.parse(await readFile(result, 'utf8')) as Written;
  if (written.checks.length === 0) throw new Error('the program wrote no checks');
  return written;
}

function say(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
