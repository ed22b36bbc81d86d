import { loadDestinations, type LoadOptions } from '../../../operations/load.ts';
import type { WorkspaceFlags } from '../../context.ts';
import { exitOfLoads, loadLine, renderLoads } from '../../output/load-summary.ts';
import { say } from '../../output/output.ts';
import { createProgress } from '../../output/progress-line.ts';
import { runForAll } from './all-workspaces.ts';

/** Runs `sightline load --all` and returns the most severe exit code of all workspaces. */
export async function loadAll(flags: WorkspaceFlags, options: LoadOptions, signal: AbortSignal): Promise<number> {
  const json = flags.json === true;
  const progress = createProgress(signal, (line: string) => line);
  return runForAll(flags, signal, {
    command: 'load --all',
    words: ['loaded', 'not loaded'],
    run: (context) =>
      loadDestinations(context, options, (now) => progress.update(`${context.config.name}: ${loadLine(now)}`)).finally(
        progress.done,
      ),
    show: async (workspace, loads) => {
      if (!json) say(`${workspace}:`);
      renderLoads(loads, json);
      return [{ destinations: loads }, exitOfLoads(loads)];
    },
  });
}
