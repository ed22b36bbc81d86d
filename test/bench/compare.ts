import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { commandFigures } from './commands.ts';
import { furtherCost, type Growth, growthFigures } from './growth.ts';
import { ingest } from './ingest.ts';
import { type Load, loadPeers } from './load-peers.ts';
import { loadFigures } from './load.ts';
import type { Part } from './measure.ts';
import { pageFigures } from './pages.ts';
import { findPeers, type Peers } from './peer-programs.ts';
import { snapshotFigures } from './snapshot.ts';

/** Parts at smaller sizes than their own defaults, so that all end within about 15 minutes. */
const runs = {
  small: (folder: string, peers: Peers) => ingest(folder, 9_000, peers, 2),
  large: (folder: string, peers: Peers) => ingest(folder, 60_000, peers),
  snapshot: (folder: string) => snapshotFigures(folder, 200_000),
  load: (folder: string) => loadFigures(folder, 20_000),
  fewServed: (folder: string, peers: Peers) => loadPeers(folder, 17_000, peers, 1),
  manyServed: (folder: string, peers: Peers) => loadPeers(folder, 300_000, peers, 1),
  pages: (folder: string) => pageFigures(folder, 300_000),
  commands: (folder: string) => commandFigures(folder, 300_000),
  growth: (folder: string) => growthFigures(folder, 10),
};
type Runs = typeof runs;
type FiguresOf<Name extends keyof Runs> = Awaited<ReturnType<Runs[Name]>>['figures'];

interface Measure {
  readonly run: keyof Runs;
  readonly name: string;
  readonly before: string;
  readonly goal: string;
  readonly now: (figures: unknown) => string;
}

/** The measures of `npm run bench -- --compare`. `before` was measured before the work on these goals began. */
const measures: readonly Measure[] = [
  ...of('small', [
    ['first sync, 2 brands, 60 days, CPU : dlt', '2.4 to 2.9 : 1', '≤ 0.8 : 1', ({ toDlt }) => ratio(toDlt)],
    ['the same, requests', '262', '≤ 240', ({ requests }) => `${requests}`],
  ]),
  ...of('large', [
    ['first sync, 60,000 responses, CPU : dlt', '0.6 : 1', '≤ 0.8 : 1', ({ toDlt }) => ratio(toDlt)],
    ['the same, CPU : bare loop that parses and appends', '7.9 : 1', '≤ 3 : 1', ({ toBare }) => ratio(toBare)],
    ['its warehouse on disk : Parquet, zstd', '', '≤ 2.5 : 1', ({ toParquet }) => ratio(toParquet)],
  ]),
  ...of('commands', [
    [
      'requests announced by a plan, then sent',
      'at most 97, 102',
      'within 10 %, in range',
      ({ announced: { requests, least, most }, sent }) => `${requests} (${least} to ${most ?? 'more'}), ${sent}`,
    ],
    ['`serve`: start to /livez', '488 to 613 ms', '≤ 250 ms', ({ liveMs }) => `${liveMs.toFixed(0)} ms`],
    ['`serve`: idle', '150 to 171 MB', '≤ 100 MB', ({ idleMb }) => megabytes(idleMb)],
    ['`serve`: peak with 16 clients', '533 MB', '≤ 300 MB', ({ peakMb }) => megabytes(peakMb)],
    ['`--version`, CPU', '0.13 s', '≤ 0.1 s', ({ cpu }) => seconds(cpu.version)],
    ['`sql "select 1"`, CPU', '0.75 s', '≤ 0.3 s', ({ cpu }) => seconds(cpu.sql)],
    ['`status`, CPU', '0.9 s', '≤ 0.3 s', ({ cpu }) => seconds(cpu.status)],
  ]),
  ...of('snapshot', [
    ['complete snapshot : bare COPY', '1.55 to 1.66 : 1', '≤ 1.2 : 1', ({ toBare }) => ratio(toBare)],
    ['one new day: snapshot : complete', '20 to 22 %', '≤ 8 %', ({ newDay }) => share(newDay)],
    ['one new day: replica : complete', '13 to 18 %', '≤ 8 %', ({ replicaNewDay }) => share(replicaNewDay)],
  ]),
  ...of('load', [
    [
      'one new day: load : complete, CPU',
      '',
      '≤ 15 %',
      ({ newDay }) => list(Object.entries(newDay).map(([kind, value]) => `${kind} ${share(value)}`)),
    ],
  ]),
  ...servedMeasures('fewServed', '17,000'),
  ...servedMeasures('manyServed', '300,000'),
  ...of('pages', [['overview with a changed filter', '451 ms', '≤ 250 ms', ({ changedMs }) => `${changedMs} ms`]]),
  ...of('growth', [
    [
      'nightly job with nothing new, 1 brand, CPU',
      '',
      '≤ 3 s',
      ({ brands }) => seconds(brands[0]?.nightly.cpu ?? Number.NaN),
    ],
    [
      'the same, requests of a brand',
      '',
      '≤ 20',
      ({ brands }) => list(brands.map(({ size, requests }) => (requests / size).toFixed(1))),
    ],
    ['each further 1,000 responses', '', 'linear, memory flat', ({ responses }) => growth(responses)],
    ['each further brand', '', 'linear, memory flat', ({ brands }) => growth(brands)],
    ['each further workspace', '', 'linear, memory flat', ({ workspaces }) => growth(workspaces)],
  ]),
];

/** Runs the parts and prints what they measured, and then a table of all measures: before, goal, now. */
export async function compare(folder: string, print: (line: string) => void): Promise<void> {
  const peers = findPeers(folder);
  const figures = new Map<keyof Runs, unknown>();
  for (const name of Object.keys(runs) as (keyof Runs)[]) {
    const own = join(folder, name);
    await mkdir(own);
    try {
      const part: Part = await runs[name](own, peers);
      for (const line of part.lines) print(line);
      figures.set(name, part.figures);
    } catch (thrown) {
      print(`${name}: NOT TRIED: ${String(thrown)}`);
    }
    await rm(own, { recursive: true });
  }
  print('\n| measure | before | goal | now |\n|---|---|---|---|');
  for (const { run, name, before, goal, now } of measures) {
    const measured = figures.has(run) ? now(figures.get(run)) : 'NOT TRIED';
    print(`| ${name} | ${before} | ${goal} | ${measured} |`);
  }
}

type Row<Name extends keyof Runs> = readonly [
  name: string,
  before: string,
  goal: string,
  now: (figures: FiguresOf<Name>) => string,
];

/** Measures from the figures of one part. */
function of<Name extends keyof Runs>(run: Name, rows: readonly Row<Name>[]): Measure[] {
  return rows.map(([name, before, goal, now]) => ({
    ...{ run, name, before, goal },
    now: (figures) => now(figures as FiguresOf<Name>),
  }));
}

function servedMeasures(run: 'fewServed' | 'manyServed', responses: string): Measure[] {
  const valuesOf = (loads: readonly Load[], kind: Load['kind'], value: (load: Load) => string): string =>
    list(loads.filter((load) => load.kind === kind).map(value));
  const [page, metrics] = ['a page of 100 responses', 'metrics, first asked'] as const;
  const toDatasette = ({ toDatasette: value }: Load): string => ratio(value);
  return of(run, [
    [
      `${page}, 1 / 16 / 64 clients : Datasette, ${responses}`,
      '6 to 10 : 1, 2 to 3 : 1',
      '≥ 10 : 1, ≥ 4 : 1',
      (loads) => valuesOf(loads, page, toDatasette),
    ],
    ['the same, p99 : p50', '10', '≤ 3', (loads) => valuesOf(loads, page, ({ tail }) => tail.toFixed(1))],
    [
      `${metrics}, 1 / 16 / 64 clients : Datasette, ${responses}`,
      '1.4 to 3 : 1',
      '≥ 10 : 1',
      (loads) => valuesOf(loads, metrics, toDatasette),
    ],
  ]);
}

function growth(rows: readonly Growth[]): string {
  const memory = rows.flatMap(({ sync, nightly }) => [sync?.peakMb ?? 0, nightly.peakMb]);
  const costs = (['sync', 'snapshot', 'nightly'] as const).map((phase) => {
    const further = rows.flatMap((row, index) => (row[phase] === null ? [] : [furtherCost(rows, index, phase)]));
    return `${phase} ${further.map((cost) => cost.toFixed(2)).join(' → ')} s`;
  });
  return list([...costs, `at most ${megabytes(Math.max(...memory))}`]);
}

function ratio(value: number | null): string {
  return value === null ? 'not installed' : `${value.toFixed(2)} : 1`;
}

function share(value: number): string {
  return `${(100 * value).toFixed(0)} %`;
}

function seconds(value: number): string {
  return `${value.toFixed(2)} s`;
}

function megabytes(value: number): string {
  return `${value.toFixed(0)} MB`;
}

function list(values: readonly string[]): string {
  return values.join(', ');
}
