import { exitOfLoads, loadLine, renderLoads } from '../../output/load-summary.ts';
import { printJson } from '../../output/output.ts';
import { createProgress } from '../../output/progress-line.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag } from '../../program/option-kinds.ts';

/** Loads the replica into destinations. */
export const load = defineCommand({
  arguments: { names: argument('[names...]', 'names in the setting `destinations` (default: all)') },
  options: {
    ...workspaceOptions,
    full: flag('write every row again, even if the destination has later data'),
    dryRun: flag('compare, and write nothing'),
    all: flag('load every configured workspace'),
  },
  examples: [
    ['sightline load', 'load every destination'],
    ['sightline load lake --dry-run', 'count what a load into the destination lake would write'],
  ],
  run: async ({ names, full, dryRun, all, ...unread }, begin) => {
    const { context, flags, json, signal } = begin(unread);
    const options = { names: names.length === 0 ? null : names, full, dryRun };
    if (all) return (await import('../scale/load-all-command.ts')).loadAll(flags, options, signal);
    const { loadDestinations } = await import('../../../operations/load.ts');
    const progress = createProgress(signal, loadLine);
    const loads = await loadDestinations(await context(), options, progress.update).finally(progress.done);
    if (json) printJson('load', { destinations: loads });
    renderLoads(loads, json);
    return exitOfLoads(loads);
  },
});
