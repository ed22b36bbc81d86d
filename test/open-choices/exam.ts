import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { CalibratedPoint } from '../../src/analytics/calibration/calibrated-points.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readCalibration } from '../../src/operations/calibration.ts';
import { type Context, openContext, sync } from '../../src/operations/sightline.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import { serveWorkspace } from '../../src/serve/serve-workspace.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { questions, readVocabulary } from '../query/questions.ts';
import { countOf } from '../support/counts.ts';
import { type Difference, differencesOf } from '../support/difference.ts';
import type { Choices } from './choices.ts';
import { PAGED, type Reply, startUpstream, type Upstream } from './upstream.ts';

const NOW_MS = Date.parse('2026-03-15T15:30:00Z');
/** A brand, with a few days before the default range of 30. */
const SIZE = { brands: 1, prompts: 9, days: countOf(36, 40) };
/** Pages of a paged scan that are compared at most. */
const PAGES_MAX = 6;

/** A difference of two responses to a request. */
export interface Finding extends Difference {
  readonly path: string;
}

/** What the comparison of one combination of choices found. */
export interface ExamResult {
  readonly asked: number;
  readonly findings: readonly Finding[];
  readonly points: readonly CalibratedPoint[];
  /** Number of requests that calibration sent. */
  readonly probes: number;
  /** Requests of the sync that upstream did not answer with 200. */
  readonly rejected: readonly string[];
}

export interface ExamOptions {
  readonly choices: Choices;
  readonly seed: number;
  readonly questions: number;
  /** Requests that calibration may send. */
  readonly probesMax: number;
}

/** Syncs an upstream with these choices once, and asks both sides the same questions. */
export async function examine({ choices, seed, questions: count, probesMax }: ExamOptions): Promise<ExamResult> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-open-choices-'));
  const clock = { ...systemClock, now: () => NOW_MS };
  const upstream = await startUpstream(choices, { ...SIZE, seed }, NOW_MS);
  try {
    const environment = { SIGHTLINE_API_KEY: upstream.sandbox.key, SIGHTLINE_CALIBRATION_PROBES: String(probesMax) };
    const { baseUrl } = upstream;
    const context = openContext({ folder, dataDir: join(folder, 'data'), baseUrl, environment, clock });
    await sync(context);
    const { value: points } = await readCalibration(context.config, null);
    const asked = await createQuestions(upstream, count, seed);
    const findings = await compareAll(context, upstream, asked);
    return { asked: asked.length, findings, points, probes: await countProbes(folder), rejected: upstream.rejected };
  } finally {
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function createQuestions({ sandbox }: Upstream, count: number, seed: number): Promise<string[]> {
  const upstream = async (path: string): Promise<Reply> => {
    const response = await fetch(`${sandbox.baseUrl}${path}`, { headers: { authorization: `Bearer ${sandbox.key}` } });
    return { status: response.status, body: await response.json() };
  };
  return fc.sample(questions(await readVocabulary({ sandbox, upstream })), { numRuns: count, seed });
}

async function countProbes(folder: string): Promise<number> {
  const reader = await openReader(join(folder, 'data/default/analytics.duckdb'));
  try {
    const { rows } = await reader.query("SELECT count(*) FROM sync.requests WHERE slice = 'probe'");
    return Number(rows[0]?.[0]);
  } finally {
    reader.close();
  }
}

async function compareAll(context: Context, upstream: Upstream, asked: readonly string[]): Promise<Finding[]> {
  const { text: key } = await createKey(context.config.folder, 'exam', null, NOW_MS);
  const server = await serveWorkspace(context, {
    host: '127.0.0.1',
    port: 0,
    metricsPort: null,
    pages: 'off',
    runsJobs: false,
    queryTimeoutMs: 60_000,
    rateLimit: 'off',
    corsOrigins: [],
    allowedHosts: [],
    logLevel: 'error',
    log: (text) => process.stderr.write(text),
  });
  const ask = async (path: string): Promise<Reply> => {
    const response = await fetch(`${server.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, body: await response.json() };
  };
  try {
    const findings: Finding[] = [];
    for (const path of asked) {
      const [expected, served] = [await readAll(path, upstream.ask), await readAll(path, ask)];
      findings.push(...compare(expected, served).map((difference) => ({ ...difference, path })));
    }
    return findings;
  } finally {
    await server.close();
  }
}

/** Reads a response, or the pages of a paged scan as one. */
async function readAll(path: string, ask: (path: string) => Promise<Reply>): Promise<Reply> {
  let reply = await ask(path);
  const [pathname = '', query = ''] = path.split('?');
  if (!PAGED.test(pathname)) return reply;
  const data: unknown[] = [];
  for (let pages = 1; reply.status === 200; pages += 1) {
    const body = reply.body as { data?: unknown[]; nextCursor?: string | null };
    data.push(...(body.data ?? []));
    if (typeof body.nextCursor !== 'string' || pages >= PAGES_MAX) return { status: 200, body: { ...body, data } };
    const parameters = new URLSearchParams(query);
    parameters.set('cursor', body.nextCursor);
    reply = await ask(`${pathname}?${parameters}`);
  }
  return reply;
}

function compare(expected: Reply, served: Reply): Difference[] {
  if (expected.status !== served.status) {
    return [{ field: 'status', expected: expected.status, served: `${served.status} ${messageOf(served)}` }];
  }
  // The specification shows no bodies of rejections, and the read server has documented ones of its own.
  if (expected.status !== 200) return [];
  return differencesOf(JSON.parse(JSON.stringify(expected.body)), served.body);
}

function messageOf({ body }: Reply): string {
  return (body as { error?: { message?: string } }).error?.message ?? '';
}

/** Number of requests with at least one difference. */
export function countDiffering({ findings }: Pick<ExamResult, 'findings'>): number {
  return new Set(findings.map(({ path }) => path)).size;
}
