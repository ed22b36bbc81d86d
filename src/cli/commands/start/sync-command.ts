import { exitCodeOf } from '../../../base/ending.ts';
import { printJson } from '../../output/output.ts';
import { createSyncProgress } from '../../output/progress-line.ts';
import { renderSync, tuneForSync } from '../../output/sync-summary.ts';
import { terminal } from '../../output/terminal.ts';
import {
  allowanceOf,
  allowanceOptions,
  rangeOf,
  syncRangeOptions,
  workspaceOptions,
} from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, list } from '../../program/option-kinds.ts';

export const sync = defineCommand({
  options: {
    ...workspaceOptions,
    only: list('<resources...>', 'only these resources and their dependencies'),
    brand: list('<brands...>', 'only these brands, by name or ID'),
    ...syncRangeOptions,
    full: flag('fetch everything again'),
    acceptDeletions: flag('delete stored rows that upstream no longer lists, regardless of their number'),
    ...allowanceOptions,
    acceptPlan: flag('continue even if the plan is far larger than the last one'),
    acceptExpiry: flag('remove all expired raw pages, not only those of one day'),
    all: flag('sync every configured workspace, in parallel'),
  },
  exits:
    '3 if some data could not be fetched or a limit was reached. With `--all` the most severe of all workspaces: 130, then 1, 2, 4, 3, 0.',
  examples: [
    ['sightline sync', 'copy everything that has changed'],
    [
      'sightline sync --only responses --brand acme --from 2026-11-01',
      'fetch the responses of one brand again from a day on',
    ],
  ],
  run: async ({ only, brand, from, to, maxRequests, maxMinutes, until, all, ...more }, begin) => {
    const { full, acceptPlan, acceptExpiry, acceptDeletions, ...unread } = more;
    const { context, flags, json, signal } = begin(unread);
    tuneForSync();
    const accepted = { full, acceptPlan, acceptExpiry, acceptDeletions };
    const allowance = allowanceOf({ maxRequests, maxMinutes, until }, terminal().clock.now());
    const options = { only, range: rangeOf(from, to), brands: brand, ...accepted, ...allowance };
    if (all) return (await import('../scale/sync-all-command.ts')).syncAll(flags, options, signal);
    const { endingOfSync, syncAndNotify } = await import('../../../operations/sync.ts');
    const progress = createSyncProgress(signal);
    const summary = await syncAndNotify(await context(), options, {
      job: null,
      onProgress: progress.update,
      onEnd: async (ended, elapsedMs) => {
        progress.done();
        const shown = renderSync(ended, elapsedMs);
        if (json) printJson('sync', shown);
      },
    }).finally(progress.done);
    return exitCodeOf(endingOfSync(summary));
  },
});
