import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';
import { NOT_TRIED } from './needs.ts';

const FILES_MAX = 25;

declare module 'vitest' {
  interface TaskMeta {
    /** Peak resident memory, in MB, of the worker that ran the file, since the worker started. */
    peakMb?: number;
    /** CPU time of the file, in seconds: that of the worker and of the processes that it started and that have ended. */
    cpuS?: number;
    /** How often the file did work that takes long, and how many seconds it took, by kind. */
    work?: Readonly<Record<string, { readonly count: number; readonly seconds: number }>>;
  }
}

/**
 * Prints the files that took most of the run's CPU time, the time by folder and by kind of work, the tests that this machine cannot run, and
 * the totals as the last line. At a time limit it ends the run and prints the files that did not finish, which is not a failure.
 */
export class TimeReport implements Reporter {
  private vitest: Vitest | null = null;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;
  /** Files that ended before the limit. */
  private readonly finished = new Set<TestModule>();

  private readonly limitS: number | null;

  constructor(limitS: number | null = null) {
    this.limitS = limitS;
  }

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onTestRunStart(): void {
    if (this.limitS !== null) this.timer = setTimeout(() => this.endRun(), this.limitS * 1_000);
  }

  onTestModuleEnd(module: TestModule): void {
    if (!this.isOver) this.finished.add(module);
  }

  // The tests that run now end, and the others are skipped.
  private endRun(): void {
    this.isOver = true;
    void this.vitest?.cancelCurrentRun('keyboard-input');
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    clearTimeout(this.timer);
    const log = (line: string): void => this.vitest?.logger.log(line);
    if (modules.length > 1) for (const line of timesOf(modules)) log(line);
    const unfinished = new Set(this.isOver ? modules.filter((module) => !this.finished.has(module)) : []);
    const isTold = (test: TestCase): boolean => !unfinished.has(test.module) || test.result().state !== 'skipped';
    const tests = modules.flatMap((module) => [...module.children.allTests()]).filter(isTold);
    const reasons = new Map<string, number>();
    for (const test of tests) {
      if (test.result().state !== 'skipped') continue;
      const { note = '' } = test.result() as { note?: string };
      const given = `${test.fullName} ${note}`.split(NOT_TRIED)[1]?.replace(/\].*/, '');
      const reason = given ?? (note === '' ? `no reason given: ${test.fullName}` : note);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    for (const [reason, count] of reasons) log(`${NOT_TRIED}${count} tests. ${reason}`);
    if (unfinished.size > 0) {
      const names = [...unfinished].map(({ moduleId }) => relative(process.cwd(), moduleId));
      log(`NOT FINISHED within ${this.limitS} s: ${names.length} of ${modules.length} files: ${names.join(' ')}`);
    }
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length;
    log(`PROPERTY_SEED=${this.vitest?.config.env['PROPERTY_SEED']} repeats the generated cases`);
    // Vitest counts an ended run as a failure.
    if (this.isOver && count('failed') + broken + errors.length === 0) process.exitCode = 0;
    log(`${count('passed')} passed, ${count('failed') + broken} failed, ${count('skipped')} skipped`);
  }
}

function timesOf(modules: readonly TestModule[]): string[] {
  const files = modules
    .map((module) => {
      const { setupDuration, collectDuration, duration } = module.diagnostic();
      const { cpuS = 0, work = {} } = module.meta();
      return {
        name: relative(process.cwd(), module.moduleId),
        cpuS,
        wallS: (setupDuration + collectDuration + duration) / 1000,
        work,
      };
    })
    .sort((a, b) => b.cpuS - a.cpuS);
  const sums = (nameOf: (file: string) => string): [string, number][] => {
    const sum = new Map<string, number>();
    for (const { name, cpuS } of files) sum.set(nameOf(name), (sum.get(nameOf(name)) ?? 0) + cpuS);
    return [...sum].sort((a, b) => b[1] - a[1]);
  };
  const kinds = new Map<string, { count: number; seconds: number }>();
  for (const { work } of files) {
    for (const [kind, { count, seconds }] of Object.entries(work)) {
      const sum = kinds.get(kind) ?? { count: 0, seconds: 0 };
      kinds.set(kind, { count: sum.count + count, seconds: sum.seconds + seconds });
    }
  }
  return [
    `\n${files.length} files: ${files.reduce((sum, { cpuS }) => sum + cpuS, 0).toFixed(0)} s of CPU. By folder:`,
    sums((name) => name.split('/').slice(1, -1)[0] ?? 'test')
      .map(([folder, cpuS]) => `${folder} ${cpuS.toFixed(0)}`)
      .join(' · '),
    ...files
      .slice(0, FILES_MAX)
      .map(
        ({ name, cpuS, wallS }) => `${cpuS.toFixed(1).padStart(8)} s CPU ${wallS.toFixed(1).padStart(7)} s  ${name}`,
      ),
    ...[...kinds].map(([kind, { count, seconds }]) => `${kind}: ${count}, ${seconds.toFixed(0)} s`),
    `Peak memory of a worker: ${Math.max(...modules.map((module) => module.meta().peakMb ?? 0))} MB`,
  ];
}
