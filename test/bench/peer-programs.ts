import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Sources of the peers; they are not compiled. */
const SOURCES = join(import.meta.dirname, '../../../test/bench/peers');
const PACKAGES = ['dlt', 'datasette', 'duckdb'];

/** The peers' programs, or what is missing. */
export type Peers =
  | { readonly python: string; program(name: string): string; source(name: string): string }
  | { readonly missing: string };

/** Uses the Python of SIGHTLINE_BENCH_PYTHON if it is set; otherwise installs the packages into a new environment. */
export function findPeers(folder: string): Peers {
  const given = process.env['SIGHTLINE_BENCH_PYTHON'];
  const python = given ?? join(folder, 'python/bin/python');
  if (given === undefined) {
    for (const [program, ...args] of [
      ['python3', '-m', 'venv', join(folder, 'python')],
      [python, '-m', 'pip', 'install', '--quiet', '--requirement', join(SOURCES, 'requirements.txt')],
    ] as const) {
      const { status, error, stderr } = spawnSync(program as string, args as string[], { encoding: 'utf8' });
      if (status !== 0) return { missing: error?.message ?? `${program}: ${stderr.trim().split('\n').at(-1)}` };
    }
  }
  const { status } = spawnSync(python, ['-c', `import ${PACKAGES.join(', ')}`]);
  if (status !== 0) return { missing: `${python} lacks one of ${PACKAGES.join(', ')}` };
  const program = (name: string): string => join(python, '..', name);
  if (!existsSync(program('roapi'))) return { missing: `there is no ${program('roapi')}` };
  return { python, program, source: (name) => join(SOURCES, name) };
}

/** Starts a program of the peers, and waits until its port answers. */
export async function startPeer(program: string, args: readonly string[], origin: string) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore'] });
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    const isUp = await fetch(origin).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    );
    if (isUp) return child;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill('SIGKILL');
  throw new Error(`${program} does not answer at ${origin}`);
}
