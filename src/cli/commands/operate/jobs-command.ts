import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { JobRun } from '../../../jobs/job-log.ts';
import type { PerformStep } from '../../../operations/jobs/run-workspace-job.ts';
import type { PerformedStep } from '../../job-steps.ts';
import { duration, printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand, defineGroup } from '../../program/define-command.ts';
import { argument, integer } from '../../program/option-kinds.ts';

const LIMIT_MAX = 1_000;

const list = defineCommand({
  options: workspaceOptions,
  examples: [
    ['sightline jobs', 'list the jobs'],
    ['sightline jobs list --workspace acme', 'list those of a workspace'],
  ],
  run: async (unread, begin) => {
    const { config, json } = begin(unread);
    const { listJobs } = await import('../../../operations/jobs/job-list.ts');
    const listed = (await listJobs(await config(), terminal().clock.now())).map(({ job, next, last }) => {
      const { name, about, cron, timeZone, enabled, catchUp, steps } = job;
      return { name, about, cron: cron.text, timeZone, enabled, catchUp, steps, next, last };
    });
    if (json) {
      printJson('jobs list', listed);
      return EXIT.done;
    }
    const rows = listed.map(({ name, cron, timeZone, enabled, steps, next, last }) => [
      name,
      cron,
      timeZone,
      steps.map((step) => step.do).join(', '),
      enabled ? toMinute(next) : 'off',
      last === null ? 'never' : toMinute(last.startedAt),
      last === null ? '' : describeResult(last),
    ]);
    printData(tableOf(['job', 'cron', 'zone', 'steps', 'next run', 'last run', 'result'], rows));
    say('`sightline serve` runs them when due; cron or systemd can call `sightline jobs run NAME` instead.');
    return EXIT.done;
  },
});

const next = defineCommand({
  options: {
    ...workspaceOptions,
    limit: integer('<number>', 'list this many due times of all jobs (default: the next of each job)', 1, LIMIT_MAX),
  },
  examples: [
    ['sightline jobs next', 'show when each job is due next'],
    ['sightline jobs next --limit 50', 'list the next 50 due times'],
  ],
  run: async ({ limit, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const { jobsOf } = await import('../../../operations/jobs/job-list.ts');
    const { upcoming } = await import('../../../jobs/schedule.ts');
    const all = jobsOf(await config());
    const now = terminal().clock.now();
    const found = limit === null ? all.flatMap((job) => upcoming([job], now, 1)) : upcoming(all, now, limit);
    const due = found
      .sort((a, b) => a.atMs - b.atMs)
      .map(({ job, atMs }) => ({
        job: job.name,
        at: new Date(atMs).toISOString(),
        timeZone: job.timeZone,
      }));
    if (json) printJson('jobs next', due);
    else {
      const rows = due.map(({ job, at, timeZone }) => [toMinute(at), toLocal(at, timeZone), job]);
      printData(tableOf(['at', 'local time', 'job'], rows));
    }
    return EXIT.done;
  },
});

const run = defineCommand({
  arguments: { name: argument('<job>', 'name of the job') },
  options: workspaceOptions,
  exits: 'the most severe of its steps: 130, then 1, 2, 4, 3, 0.',
  examples: [
    ['sightline jobs run nightly', 'run a job now'],
    ['sightline jobs run nightly --json', 'print the result of each step as JSON'],
  ],
  run: async ({ name, ...unread }, begin) => {
    const { config: load, flags, json, signal } = begin(unread);
    const { contextOf } = await import('../../context.ts');
    const { performStep } = await import('../../job-steps.ts');
    const { jobOf } = await import('../../../operations/jobs/job-list.ts');
    const { runRequestedJob } = await import('../../../operations/jobs/run-workspace-job.ts');
    const config = await load();
    const job = jobOf(config, name);
    config.notify();
    const results: PerformedStep['json'][] = [];
    const perform: PerformStep = async (inside, _job, step) => {
      if (!json) say(`${name}: ${step.do}`);
      const ended = await performStep(name, step, flags, inside);
      results.push(ended.json);
      return ended;
    };
    const context = contextOf(`jobs run ${name}`, config, signal);
    const ran = await runRequestedJob(context, job, 'refuse', perform);
    if (json) {
      const steps = ran.steps.map((step, index) => ({ ...step, result: results[index] ?? null }));
      printJson('jobs run', { ...ran, steps });
    } else describeRun(name, ran);
    return ran.exitCode;
  },
});

/** Without a subcommand, `jobs` lists them. */
export const jobs = defineGroup(
  {
    list: { about: 'list the jobs, with their next run and the result of the last', add: list },
    next: { about: 'list the next due time of each job', add: next },
    run: { about: "run a job's steps now, as cron or systemd would", add: run },
  },
  'list',
);

function describeRun(job: string, run: JobRun): void {
  const took = duration(Date.parse(run.endedAt) - Date.parse(run.startedAt));
  const steps = run.steps.map(({ step, status }) => `${step} ${status}`);
  say(`job ${job} ${run.status} in ${took}: ${steps.join(', ')}`);
}

function describeResult({ status, steps }: JobRun): string {
  const failed = steps.find((step) => step.status === status && step.error !== null);
  return status === 'done' || failed === undefined ? status : `${status}: ${failed.step}: ${failed.error}`;
}

function tableOf(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function toMinute(time: string | null): string {
  return time === null ? 'never' : shownTime(time);
}

function toLocal(time: string, timeZone: string): string {
  return new Date(time).toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
}
