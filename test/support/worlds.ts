import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandboxWorkspace, type WorkspaceOptions, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { isAlive } from '../../src/base/process-alive.ts';
import { NOW_MS, skippingClock } from './clocks.ts';
import { NO_PROBES } from './no-probes.ts';
import { runCommand } from './run-command.ts';
import { timed } from './work-times.ts';

/**
 * Generated workspaces that tests share. Each is synced and exported once per version of the code, and tests get copies. Add one only if
 * no other has the rows that a test needs.
 */
export const WORLDS = {
  /** The smallest with rows in every table: one brand, three prompts, four days. */
  tiny: { brands: 1, prompts: 3, days: 4 },
  /** Two brands, whose rows must not mix. */
  small: { brands: 2, prompts: 6, days: 8 },
  /** Two ranges of 28 days, which the pages compare. */
  months: { brands: 2, prompts: 4, days: 60 },
  /** Months of an upstream with other definitions and forms of its numbers. */
  fractions: {
    seed: 2,
    brands: 1,
    prompts: 3,
    days: 60,
    choices: {
      scale: 'fraction',
      decimals: 3,
      sentiment: { positive: 1, neutral: 0, negative: -1 },
      timestamps: 'seconds',
      siteTotals: 'unique',
      websites: 'cited',
    },
  },
} as const satisfies Readonly<Record<string, WorkspaceOptions>>;

/** Name of a world. */
export type World = keyof typeof WORLDS;

/** Creates a clock that shows the time of worlds and whose sleeps end at once. */
export function worldClock(): Clock {
  return skippingClock(() => NOW_MS);
}

/** Starts the upstream of a world, in the state in which the world was synced. */
export function startWorldSandbox(world: World, options: WorkspaceOptions = {}): Promise<WorkspaceSandbox> {
  return startSandboxWorkspace({ rateLimit: 10_000, clock: () => NOW_MS, ...WORLDS[world], ...options });
}

/**
 * Copies a world into `folder`, which then has `data/default` with warehouse, replica, raw pages and one snapshot, as after
 * `sightline sync` and `sightline export` at `NOW_MS`.
 */
export async function copyWorld(world: World, folder: string): Promise<void> {
  await cp(await originalOf(world), folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
}

/** Returns the folder of a world, which no test may change. */
export async function originalOf(world: World): Promise<string> {
  const cache = process.env['TEST_WORLDS'];
  if (cache === undefined) throw new Error('TEST_WORLDS is not set; test/global-setup.ts sets it');
  const made = join(cache, world);
  // Several workers may need a world at the same time; one of them makes it.
  while (!existsSync(made)) {
    const lock = join(cache, `${world}.maker`);
    if (await isFirst(lock)) {
      try {
        if (!existsSync(made)) await timed('world made', () => make(world, made));
      } finally {
        await rm(lock, { force: true });
      }
    } else await systemClock.sleep(20);
  }
  return made;
}

async function isFirst(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const maker = await readFile(lock, 'utf8').catch(() => '');
    if (maker !== '' && !isAlive(Number(maker))) await rm(lock, { force: true });
    return false;
  }
}

async function make(world: World, made: string): Promise<void> {
  const sandbox = await startWorldSandbox(world);
  const folder = await mkdtemp(`${made}-`);
  try {
    const env = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
    const clock = worldClock();
    for (const command of ['sync', 'export']) {
      const { code, stderr } = await runCommand([command], { cwd: folder, env, clock });
      if (code !== 0) throw new Error(`${command} of world ${world} ended with ${code}: ${stderr}`);
    }
    await mkdir(join(made, '..'), { recursive: true });
    await rename(folder, made);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await sandbox.close();
  }
}
