import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCli, startUpstream, type UpstreamSize } from './children.ts';
import { generate } from './generate.ts';
import { finish, type Part, type Usage } from './measure.ts';

/** Sizes at 100 %. */
const RESPONSES = [10_000, 50_000, 200_000];
const GENERATED_RESPONSES = 1_000_000;
const BRANDS = [1, 10, 100];
const WORKSPACES = [1, 10, 50];

const DAYS = 60;
/** Size of each brand if brands or workspaces are counted. */
const FEW = { days: 30, responsesPerDay: 2 };

/** Costs at a size: seconds of CPU time and peak memory of each phase; null if it was not measured. */
export interface Growth {
  readonly size: number;
  readonly sync: Usage | null;
  readonly snapshot: Usage;
  readonly nightly: Usage;
  /** Requests of the nightly job. */
  readonly requests: number;
}

export interface GrowthFigures {
  /** By thousands of responses. */
  readonly responses: readonly Growth[];
  readonly brands: readonly Growth[];
  readonly workspaces: readonly Growth[];
}

/**
 * Measures first sync, complete snapshot, and nightly job with nothing new of growing workspaces: responses of a brand, brands, and
 * workspaces of a machine, `percent` of the sizes above. If the cost is linear, each further unit costs the same in every line.
 */
export async function growthFigures(folder: string, percent: number): Promise<Part<GrowthFigures>> {
  const sizes = (all: readonly number[]): number[] => [
    ...new Set(all.map((size) => Math.max(1, Math.round((size * percent) / 100)))),
  ];
  const each = async (all: readonly number[], measure: (folder: string, size: number) => Promise<Growth>) => {
    const measured: Growth[] = [];
    for (const size of sizes(all)) {
      const own = join(folder, 'growth');
      await mkdir(own);
      measured.push(await measure(own, size));
      await rm(own, { recursive: true });
    }
    return measured;
  };
  const figures = {
    responses: [...(await each(RESPONSES, ofResponses)), ...(await each([GENERATED_RESPONSES], ofGenerated))],
    brands: await each(BRANDS, (own, brands) => ofOne(own, brands, { ...FEW, brands })),
    workspaces: await each(WORKSPACES, ofWorkspaces),
  };
  return {
    figures,
    lines: [
      ...tableOf('1,000 responses', figures.responses),
      ...tableOf('brand', figures.brands),
      ...tableOf('workspace', figures.workspaces),
      'CPU time in seconds, of each further unit, and peak memory. Generated responses: without sync and verification.',
    ],
  };
}

function ofResponses(folder: string, responses: number): Promise<Growth> {
  return ofOne(folder, responses / 1_000, { days: DAYS, responsesPerDay: Math.ceil(responses / DAYS) });
}

async function ofGenerated(folder: string, responses: number): Promise<Growth> {
  await generate(folder, responses);
  const [snapshot, nightly] = [await run(folder, {}, ['export']), await run(folder, {}, ['export'])];
  return { size: responses / 1_000, sync: null, snapshot, nightly, requests: 0 };
}

async function ofOne(folder: string, size: number, world: UpstreamSize): Promise<Growth> {
  const upstream = await startUpstream(world);
  try {
    return await phases(folder, size, upstream.environment, [['jobs', 'run', 'nightly']]);
  } finally {
    upstream.process.kill('SIGKILL');
  }
}

// Workspaces with equal data and a key each. No command verifies all workspaces, so their job has no verification.
async function ofWorkspaces(folder: string, number: number): Promise<Growth> {
  const names = Array.from({ length: number }, (_, index) => `w${index + 1}`);
  const environment = Object.fromEntries(
    names.map((name) => [`KEY_${name}`.toUpperCase(), `gsk_bench_${name.padStart(8, '0')}_0000000000`]),
  );
  const upstream = await startUpstream({ ...FEW, keys: Object.values(environment) });
  const { baseUrl } = upstream;
  const settings = names.map((name) => [name, { baseUrl, apiKeyVariable: `KEY_${name}`.toUpperCase() }]);
  await writeFile(
    join(folder, 'sightline.config.json'),
    JSON.stringify({ workspaces: Object.fromEntries(settings) as object }),
  );
  try {
    return await phases(folder, number, environment, [['sync'], ['export']], ['--all']);
  } finally {
    upstream.process.kill('SIGKILL');
  }
}

async function phases(
  folder: string,
  size: number,
  environment: Readonly<Record<string, string>>,
  job: readonly (readonly string[])[],
  options: readonly string[] = [],
): Promise<Growth> {
  const command = (args: readonly string[]) => run(folder, environment, [...args, ...options]);
  const [sync, snapshot] = [await command(['sync']), await command(['export'])];
  const nightly = { cpu: 0, peakMb: 0, requests: 0 };
  for (const args of job) {
    const { cpu, peakMb, requests } = await command(args);
    nightly.cpu += cpu;
    nightly.peakMb = Math.max(nightly.peakMb, peakMb);
    nightly.requests += requests;
  }
  return { size, sync, snapshot, nightly, requests: nightly.requests };
}

async function run(folder: string, environment: Readonly<Record<string, string>>, args: readonly string[]) {
  const { output, ...used } = await finish(startCli(folder, [...args, '--json'], environment));
  const sent = [...output.matchAll(/"requests": ?(\d+)/g)].map(([, requests]) => Number(requests));
  return { ...used, requests: sent.reduce((sum, requests) => sum + requests, 0) };
}

/** CPU time of each unit beyond those of the row before. */
export function furtherCost(rows: readonly Growth[], index: number, phase: 'sync' | 'snapshot' | 'nightly'): number {
  const [row, before] = [rows[index], rows[index - 1]];
  const [cpu, size] = [row?.[phase]?.cpu ?? Number.NaN, row?.size ?? 0];
  return (cpu - (before?.[phase]?.cpu ?? 0)) / (size - (before?.size ?? 0));
}

function tableOf(unit: string, rows: readonly Growth[]): string[] {
  const phases = ['sync', 'snapshot', 'nightly'] as const;
  const titles = ['first sync', 'complete snapshot', 'nothing new'];
  const cell = (index: number, phase: (typeof phases)[number]): string => {
    const used = rows[index]?.[phase];
    if (!used) return '';
    return `${used.cpu.toFixed(1)} s  ${furtherCost(rows, index, phase).toFixed(3)} s  ${used.peakMb.toFixed(0)} MB`;
  };
  return [
    [unit.padEnd(16), ...titles.map((title) => title.padStart(26)), 'requests'.padStart(10)].join(''),
    ...rows.map(({ size, requests }, index) =>
      [
        size.toLocaleString('en-US').padEnd(16),
        ...phases.map((phase) => cell(index, phase).padStart(26)),
        String(requests).padStart(10),
      ].join(''),
    ),
  ];
}
