import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { commandFigures } from './commands.ts';
import { growthFigures } from './growth.ts';
import { ingest } from './ingest.ts';
import { peerFigures } from './peers.ts';
import { snapshotFigures } from './snapshot.ts';

/** The benchmarks, each with its default number of responses. */
const parts = {
  ingest: { measure: ingest, responses: 200_000 },
  peers: { measure: peerFigures, responses: 1_000_000 },
  snapshot: { measure: snapshotFigures, responses: 1_000_000 },
  load: {
    measure: async (...of: [string, number]) => (await import('./load.ts')).loadFigures(...of),
    responses: 50_000,
  },
  // Imported lazily, because the browser's client is not needed by the others.
  pages: {
    measure: async (...of: [string, number]) => (await import('./pages.ts')).pageFigures(...of),
    responses: 1_000_000,
  },
  // The number is workspaces per worker. Imported lazily, to keep its memory out of the other benchmarks.
  cluster: {
    measure: async (...of: [string, number]) => (await import('./cluster.ts')).clusterFigures(...of),
    responses: 6,
  },
  // The number is percent of the full sizes.
  growth: { measure: growthFigures, responses: 100 },
  commands: { measure: commandFigures, responses: 1_000_000 },
} as const;

// `npm run bench`, `npm run bench -- peers`, `npm run bench -- ingest 1000000`. Every figure comes with a raw baseline
// from the same run, because ratios vary less between machines than absolute numbers. `--compare` prints all measures with their goals.
const { positionals, values } = parseArgs({ allowPositionals: true, options: { compare: { type: 'boolean' } } });
const [wanted, number] = positionals;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
if (values.compare === true) await inFolder(async (folder) => (await import('./compare.ts')).compare(folder, print));
else {
  for (const [name, { measure, responses }] of Object.entries(parts)) {
    if (wanted !== undefined && wanted !== name) continue;
    const { lines } = await inFolder((folder) => measure(folder, Number(number ?? responses)));
    for (const line of lines) print(line);
  }
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-bench-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
