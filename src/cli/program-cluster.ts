import { type Command, Option } from 'commander';
import { SightlineError } from '../base/errors.ts';
import { logLevelOption } from './choices.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands of many workspaces and many workers. */
export function addCluster(program: Command, choose: Choose): void {
  const onAll = (command: Command): Command =>
    command
      .option('--data-dir <folder>', 'where data are kept (default: SIGHTLINE_DATA_DIR or ./data)')
      .option('--json', 'print the result as JSON on standard output');

  onAll(program.command('worker'))
    .description(
      'run the jobs of all configured workspaces when they are due, beside other workers, until it is stopped',
    )
    .addOption(new Option('--concurrency <number>', 'workspaces side by side').default('4'))
    .option('--name <name>', 'what others see it by (default: host and process)')
    .option('--move-folder', 'record this data folder as the one that holds local homes, in place of another')
    .option('--once', 'end when nothing waits, is under way or is due within seconds')
    .addOption(logLevelOption())
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/worker.ts')).worker(flags, signal)),
    );

  const cluster = program
    .command('cluster')
    .description('tell what workers are at, or put jobs into their queue')
    .argument('[command]')
    .action((given: string | undefined) => {
      const what = given === undefined ? 'needs a command' : `has no command ${JSON.stringify(given)}`;
      throw new SightlineError('usage', `cluster ${what}; allowed: status, enqueue`);
    });
  const load = () => import('./commands/cluster.ts');
  onAll(cluster.command('status'))
    .description('tell of workers, the queue, who holds what, budgets, and which workspaces are behind')
    .addOption(new Option('--limit <number>', 'how many workspaces, tasks and keys are listed').default('20'))
    .action((flags) => choose(flags.json === true, async (signal) => (await load()).clusterStatus(flags, signal)));
  onAll(cluster.command('enqueue'))
    .description('have workers run a job of all workspaces, or of some, as soon as they can')
    .argument('<job>', 'the job')
    .option('-w, --workspace <names...>', 'these workspaces (default: all that are configured)')
    .action((job: string, flags) =>
      choose(flags.json === true, async (signal) => (await load()).clusterEnqueue(job, flags, signal)),
    );
}
