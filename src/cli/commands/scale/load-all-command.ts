import { worstExitCode } from '../../../base/ending.ts';
import { EXIT, type SightlineError, toSightlineError } from '../../../base/errors.ts';
import { loadDestinations, type LoadOptions } from '../../../operations/load.ts';
import { contextOf, readAllConfigs, type WorkspaceFlags } from '../../context.ts';
import { exitOfLoads, loadLine, renderLoads } from '../../output/load-summary.ts';
import { count, errorJson, plural, printJson, say } from '../../output/output.ts';
import { createProgress } from '../../output/progress-line.ts';

/** Runs `sightline load --all`, one workspace after the other, and returns the most severe exit code. */
export async function loadAll(flags: WorkspaceFlags, options: LoadOptions, signal: AbortSignal): Promise<number> {
  const json = flags.json === true;
  const progress = createProgress(signal, (line: string) => line);
  const codes: number[] = [];
  const fail = (workspace: string, error: SightlineError): void => {
    if (json) printJson('load --all', { workspace, ...errorJson(error) });
    say(`${workspace}: ${error.message}\n${workspace}: ${error.hint}`);
    codes.push(error.exit);
  };
  for (const one of readAllConfigs(flags)) {
    if ('error' in one) {
      fail(one.name, one.error);
      continue;
    }
    const { name } = one.config;
    const context = contextOf('load --all', one.config, signal);
    try {
      signal.throwIfAborted();
      const loads = await loadDestinations(context, options, (now) => progress.update(`${name}: ${loadLine(now)}`));
      progress.done();
      if (json) printJson('load --all', { workspace: name, destinations: loads });
      else say(`${name}:`);
      renderLoads(loads, json);
      codes.push(exitOfLoads(loads));
    } catch (thrown) {
      progress.done();
      fail(name, toSightlineError(thrown));
      if (signal.aborted) break;
    }
  }
  const done = codes.filter((code) => code === EXIT.done).length;
  say(
    `${plural(codes.length, 'workspace')}: ${count(done)} loaded${codes.length === done ? '' : `, ${count(codes.length - done)} not loaded`}`,
  );
  return worstExitCode(codes) ?? EXIT.done;
}
