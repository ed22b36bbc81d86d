import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ingest } from './ingest.ts';

/** Answers to sync; `npm run bench -- 1000000` for another number. */
const RESPONSES_DEFAULT = 200_000;

// Figures stand beside a raw baseline of the same run: machines are noisy, ratios less so.
const responses = Number(process.argv[2] ?? RESPONSES_DEFAULT);
const folder = await mkdtemp(join(tmpdir(), 'sightline-bench-'));
try {
  for (const line of await ingest(folder, responses)) process.stdout.write(`${line}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
