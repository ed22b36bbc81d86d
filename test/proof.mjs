// Runs tests three times while busy loops occupy every core four times over, then in the time zone furthest from UTC, then
// just before midnight. Arguments go to each run: `npm run test:proof -- test/sync`; default are the fast tests.
import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOOPS_PER_CORE = 4;
const given = process.argv.slice(2);
const chosen = given.length === 0 ? ['--mode', 'fast'] : given;

function run(title, env = {}) {
  process.stdout.write(`\n${title}\n`);
  const args = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--root', '.', ...chosen];
  const { status } = spawnSync('npx', args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(`failed: ${title}`);
}

const loops = Array.from({ length: LOOPS_PER_CORE * availableParallelism() }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
try {
  for (const round of [1, 2, 3]) run(`Round ${round} of 3 beside ${loops.length} busy loops`);
} finally {
  for (const loop of loops) loop.kill('SIGKILL');
}
run('TZ=Pacific/Kiritimati, 14 hours ahead of UTC', { TZ: 'Pacific/Kiritimati' });
run('Starting at 23:59:30 UTC', { TEST_CLOCK: '23:59:30' });
