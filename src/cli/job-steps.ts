import type { Ending } from '../base/ending.ts';
import { errorTable } from '../base/errors.ts';
import type { Step } from '../jobs/job.ts';
import { runStep, type StepResult } from '../operations/jobs/run-step.ts';
import type { JobLogger, PerformStep } from '../operations/jobs/run-workspace-job.ts';
import type { Context } from '../workspace/workspace.ts';
import { commandContext } from './checked-config.ts';
import type { WorkspaceFlags } from './context.ts';
import type { JsonValue } from './json/json-outputs.ts';
import { loadLine, renderLoads } from './output/load-summary.ts';
import { logOf } from './output/log-lines.ts';
import { errorJson, plural, reportError, say, size } from './output/output.ts';
import { createProgress, createSyncProgress, exportLine } from './output/progress-line.ts';
import { renderSync, tuneForSync } from './output/sync-summary.ts';
import { terminal, withTerminal } from './output/terminal.ts';

/** How a step of a job ended, and its result as `--json` prints it; null if it has none. */
export interface PerformedStep extends Ending {
  readonly json: JsonValue<'jobs run'>['steps'][number]['result'];
}

/**
 * Runs a step of a job in the session of `context` and prints messages like the command of the same name. Prints the result too,
 * unless `json` is set. Does not throw.
 */
export async function performStep(
  job: string,
  step: Step,
  { json = false, ...flags }: WorkspaceFlags,
  { signal, session }: Pick<Context, 'signal' | 'session'>,
): Promise<PerformedStep> {
  const [synced, exported, loaded] = [
    createSyncProgress(signal),
    createProgress(signal, exportLine),
    createProgress(signal, loadLine),
  ];
  const endProgress = (): void => {
    synced.done();
    exported.done();
    loaded.done();
  };
  if (step.do === 'sync') tuneForSync();
  let shown: PerformedStep['json'] = null;
  const { failure, ...ending } = await runStep(step, {
    job,
    folder: terminal().folder,
    open: (command) => {
      const context = commandContext(command, flags, signal);
      return session === undefined ? context : { ...context, session };
    },
    onSync: synced.update,
    onExport: exported.update,
    onLoad: loaded.update,
    onResult: async (result) => {
      endProgress();
      shown = await render(result, json);
    },
  });
  endProgress();
  if (failure !== null) reportError(failure, false);
  return { ...ending, json: failure === null ? shown : errorJson(failure) };
}

/** Performs steps in a process that runs jobs unattended: writes their messages to the log and prints no results. */
export function loggedSteps(flags: WorkspaceFlags, log: JobLogger): PerformStep {
  return (context, job, step) => {
    const stderr = logOf((line) => log('info', { msg: line, job, step: step.do }));
    const perform = () => performStep(job, step, { ...flags, workspace: context.config.name, json: true }, context);
    return withTerminal({ stderr, isHosted: true }, perform);
  };
}

// Prints the result of a step and returns its JSON form.
async function render(result: StepResult, json: boolean): Promise<PerformedStep['json']> {
  switch (result.of) {
    case 'sync':
      return renderSync(result.summary, result.elapsedMs);
    case 'verify':
      return (await import('./commands/operate/verify-command.ts')).renderVerification(result.verification, json);
    case 'compare':
      return (await import('./commands/operate/compare-command.ts')).renderComparison(result.comparison, json);
    case 'export':
      return (await import('./output/export-summary.ts')).renderSnapshot(result.snapshot, json);
    case 'load':
      renderLoads(result.loads, json);
      return { destinations: [...result.loads] };
    case 'files':
      return (await import('./output/export-summary.ts')).renderFiles(result.exported, false, json);
    case 'unconfirmed export': {
      const { CONFIRM_HINT } = await import('../operations/status.ts');
      const { deletions, error: message } = result;
      say(`${message}\n${CONFIRM_HINT}`);
      return { deletions, error: { code: 'deletions_unconfirmed', message, hint: CONFIRM_HINT } };
    }
    case 'report':
      return (await import('./commands/use/report-command.ts')).renderReports(result.reports, json);
    case 'brief': {
      const { briefs } = result;
      if (briefs.length === 0) say('no brief sent: no receiver in notify has the event brief');
      for (const { brand, headline } of briefs) say(`${brand}: ${headline}`);
      return { briefs };
    }
    case 'retention': {
      const { deleted } = result;
      say(`${plural(deleted.length, 'older snapshot')} deleted.`);
      return { deleted };
    }
    case 'compact': {
      const { before, after } = result.compaction;
      const text =
        after < before ? `compacted to ${size(after)} from ${size(before)}` : `${size(before)}, already compact`;
      say(`warehouse ${text}`);
      return { before, after };
    }
    case 'check': {
      const { flaws, error: message } = result;
      const { flawText } = await import('../operations/maintenance.ts');
      say(flaws.map(flawText).join('\n') || 'every key is unique, and every nested row has its parent');
      if (message === null) return { flaws };
      const code = 'warehouse_invalid';
      return { flaws, error: { code, message, hint: errorTable[code].hint } };
    }
  }
}
