import { type Command, Option } from 'commander';
import { SightlineError } from '../../base/errors.ts';
import type { Choose } from '../invocation.ts';

/** Adds the commands for scheduled jobs. */
export function addJobs(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  const jobs = program.command('jobs').description('list the scheduled jobs and their next runs, or run a job now');
  const load = () => import('../commands/jobs-command.ts');
  onWorkspace(jobs.command('list', { isDefault: true }))
    .description('list the jobs, with their next run and the result of the last')
    .argument('[command]')
    .action((given: string | undefined, flags) => {
      if (given !== undefined) {
        throw new SightlineError('usage', `jobs has no command ${JSON.stringify(given)}; allowed: list, next, run`);
      }
      choose(flags.json === true, async () => (await load()).listJobsCommand(flags));
    });
  onWorkspace(jobs.command('next'))
    .description('list the next due times of the jobs')
    .addOption(new Option('--limit <number>', 'maximum number of runs to list').default('10'))
    .action((flags) => choose(flags.json === true, async () => (await load()).nextJobs(flags)));
  onWorkspace(jobs.command('run'))
    .description("run a job's steps now, as cron or systemd would")
    .argument('<job>', 'name of the job')
    .action((name: string, flags) =>
      choose(flags.json === true, async (signal) => (await load()).runJobCommand(name, flags, signal), {
        flags,
        needsWarehouse: true,
      }),
    );
}
