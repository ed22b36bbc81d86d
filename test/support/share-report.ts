import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

const FILES_MAX = 15;

declare module 'vitest' {
  interface TaskMeta {
    /** Peak resident memory of the process that ran the file, in MB. */
    peakMb?: number;
  }
}

/** Prints the files that took most of the run's time, with their shares, and the peak memory of the workers. */
export class ShareReport implements Reporter {
  private vitest: Vitest | null = null;

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
    const [largest] = [...modules].sort((a, b) => peakOf(b) - peakOf(a)) as [TestModule];
    const lines = [
      `Time of ${timed.length} files: ${(total / 1000).toFixed(0)} s`,
      ...longest,
      `Peak memory of a worker: ${peakOf(largest)} MB, ${nameOf(largest)}`,
    ];
    this.vitest?.logger.log(`\n${lines.join('\n')}`);
  }
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
