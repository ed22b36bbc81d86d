import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { LONG_FILES, leftOut, PARTS } from './long-files.ts';

const FILES_MAX = 15;

declare module 'vitest' {
  interface TaskMeta {
    /** Peak resident memory, in MB, of the worker that ran the file, since the worker started. */
    peakMb?: number;
  }
}

/**
 * Prints the files that took most of the run's time, with their shares, the peak memory of the workers, and the long files that this part
 * of the runs leaves out. `part` is null if a run leaves out no files.
 */
export class ShareReport implements Reporter {
  private vitest: Vitest | null = null;
  private readonly part: number | null;

  constructor(part: number | null) {
    this.part = part;
  }

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules.map((module) => ({ module, ms: millisecondsOf(module) })).sort((a, b) => b.ms - a.ms);
    const total = timed.reduce((sum, { ms }) => sum + ms, 0);
    if (timed.length < 2 || total === 0) return;
    const longest = timed.slice(0, FILES_MAX).map(({ module, ms }) => {
      const share = ((100 * ms) / total).toFixed(1);
      return `${(ms / 1000).toFixed(1).padStart(8)} s ${share.padStart(5)} %  ${nameOf(module)}`;
    });
    const lines = [
      `Time of ${timed.length} files: ${(total / 1000).toFixed(0)} s`,
      ...longest,
      `Peak memory of a worker: ${Math.max(...modules.map(peakOf))} MB`,
      ...(this.part === null ? [] : notRun(this.part)),
    ];
    this.vitest?.logger.log(`\n${lines.join('\n')}`);
  }
}

function notRun(part: number): string[] {
  const names = leftOut(part);
  return [
    `NOT RUN: ${names.length} of ${LONG_FILES.length} long files, because this run has part ${part + 1} of ${PARTS}. \`npm run test:all\` runs all files:`,
    ...names.map((name) => `  ${name}`),
  ];
}

function millisecondsOf(module: TestModule): number {
  const { setupDuration, collectDuration, duration } = module.diagnostic();
  return setupDuration + collectDuration + duration;
}

function peakOf(module: TestModule): number {
  return module.meta().peakMb ?? 0;
}

function nameOf({ moduleId }: TestModule): string {
  return relative(process.cwd(), moduleId);
}
