import { type Command, Option } from 'commander';
import { SightlineError } from '../../base/errors.ts';
import type { Choose } from '../invocation.ts';
import { logLevelOption } from './choices.ts';

/** Adds the commands for many workspaces and workers. */
export function addCluster(program: Command, choose: Choose): void {
  const onAll = (command: Command): Command =>
    command
      .option('--data-dir <folder>', 'data folder (default: SIGHTLINE_DATA_DIR or ./data)')
      .option('--json', 'print the result as JSON on standard output');

  onAll(program.command('worker'))
    .description('run the due jobs of all configured workspaces, in parallel with other workers, until stopped')
    .addOption(new Option('--concurrency <number>', 'workspaces processed in parallel').default('4'))
    .option('--name <name>', 'name of this worker (default: host and process)')
    .option('--move-folder', 'record this data folder as the one with the local warehouses, replacing the recorded one')
    .option('--once', 'exit when no job is waiting, running or due within 10 seconds')
    .addOption(logLevelOption())
    .action((flags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/worker-command.ts')).worker(flags, signal),
      ),
    );

  const cluster = program
    .command('cluster')
    .description('show the workers and their queue, or enqueue jobs')
    .argument('[command]')
    .action((given: string | undefined) => {
      const problem = given === undefined ? 'requires a command' : `has no command ${JSON.stringify(given)}`;
      throw new SightlineError('usage', `cluster ${problem}; allowed: status, enqueue`);
    });
  const load = () => import('../commands/cluster-command.ts');
  onAll(cluster.command('status'))
    .description('show workers, queue, leases, budgets and overdue workspaces')
    .addOption(new Option('--limit <number>', 'maximum number of workspaces, tasks and keys to list').default('20'))
    .action((flags) => choose(flags.json === true, async (signal) => (await load()).clusterStatus(flags, signal)));
  onAll(cluster.command('enqueue'))
    .description('enqueue a job of all or some workspaces to run as soon as possible')
    .argument('<job>', 'name of the job')
    .option('-w, --workspace <names...>', 'only these workspaces (default: all configured ones)')
    .action((job: string, flags) =>
      choose(flags.json === true, async (signal) => (await load()).clusterEnqueue(job, flags, signal)),
    );
}
