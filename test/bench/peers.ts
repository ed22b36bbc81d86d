import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ingest } from './ingest.ts';
import { loadPeers } from './load-peers.ts';
import type { Part } from './measure.ts';
import { findPeers } from './peer-programs.ts';

/**
 * Compares sightline with what people would use instead, on the same data and in the same run: dlt, a bare Node loop and DuckDB alone
 * for a first sync; Datasette on SQLite and ROAPI for requests. Returns a Markdown section.
 */
export async function peerFigures(folder: string, responses: number): Promise<Part> {
  const peers = findPeers(folder);
  const [world, served] = [join(folder, 'ingest'), join(folder, 'serve')];
  await Promise.all([world, served].map((path) => mkdir(path)));
  const notTried = 'missing' in peers ? [`NOT TRIED: dlt, Datasette and ROAPI (${peers.missing}).`, ''] : [];
  const lines = [
    'Servers are asked in turn, three rounds each: the medians, and the least and greatest values. Every request is for another range.',
    "sightline's first sync also reads daily and single-day reports, keeps raw pages and a history, publishes a replica and calibrates; dlt",
    'reads the lists and reports once.',
    '',
    ...notTried,
    ...(await ingest(world, Math.ceil(responses / 5), peers)).lines,
    '',
    ...(await loadPeers(served, responses, peers)).lines,
  ];
  return { lines, figures: {} };
}
