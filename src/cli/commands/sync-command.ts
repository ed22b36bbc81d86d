import { exitCodeOf } from '../../base/ending.ts';
import { endingOfSync, syncAndNotify } from '../../operations/sync.ts';
import { commandContext } from '../context.ts';
import { printData } from '../output/output.ts';
import { createSyncProgress } from '../output/progress-line.ts';
import { renderSync, type SyncFlags, saveMemory } from '../output/sync-summary.ts';
import { allowanceOf, listOf, rangeOf } from '../program/flags.ts';

/** Runs `sightline sync` and returns its exit code. */
export async function sync(flags: SyncFlags, signal: AbortSignal): Promise<number> {
  saveMemory();
  const options = {
    only: listOf('--only', flags.only),
    range: rangeOf(flags),
    brands: listOf('--brand', flags.brand),
    full: flags.full === true,
    acceptPlan: flags.acceptPlan === true,
    acceptExpiry: flags.acceptExpiry === true,
    acceptDeletions: flags.acceptDeletions === true,
    ...allowanceOf(flags, Date.now()),
  };
  if (flags.all === true) return (await import('./sync-all-command.ts')).syncAll(flags, options, signal);
  const context = commandContext('sync', flags, signal);
  const progress = createSyncProgress();
  const summary = await syncAndNotify(context, options, {
    job: null,
    onProgress: progress.update,
    onEnd: async (ended, elapsedMs) => {
      progress.done();
      const shown = renderSync(ended, elapsedMs);
      if (flags.json === true) printData(JSON.stringify(shown));
    },
  }).finally(progress.done);
  return exitCodeOf(endingOfSync(summary));
}
