import { type Command, Option } from 'commander';
import type { Choose } from '../invocation.ts';
import { optionOf } from './choices.ts';

/** Adds the commands that need no configured workspace. */
export function addTrials(program: Command, choose: Choose): void {
  program
    .command('sandbox')
    .description('serve the API with a generated workspace, for experiments')
    .addOption(new Option('--port <port>', 'port, or 0 for any').default('4010'))
    .addOption(
      new Option('--seed <number>', 'seed of the generator; the same seed gives the same workspace').default('1'),
    )
    .addOption(new Option('--brands <number>', 'number of brands').default('2'))
    .addOption(new Option('--prompts <number>', 'number of prompts per brand').default('20'))
    .addOption(new Option('--days <number>', 'number of days of history').default('60'))
    .option('--responses-per-day <number>', 'responses per brand and day (default: one per prompt and engine)')
    .addOption(new Option('--rate-limit <number>', 'requests per minute, or off').default('120'))
    .addOption(optionOf('--window <kind>', 'kind of rate limit window', ['sliding', 'fixed']).default('sliding'))
    .addOption(new Option('--latency-ms <number>', 'delay of each response').default('0'))
    .option('--faults <list>', 'simulated faults, such as 429=0.02,500=3x,reset=0.01@/path')
    .option('--json', 'print the base URL and the key as JSON')
    .action((flags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/sandbox-command.ts')).sandbox(flags, signal),
      ),
    );

  program
    .command('demo')
    .description('run a demonstration: a sandbox, a sync, a snapshot, three queries')
    .option('--data-dir <folder>', 'data folder (default: SIGHTLINE_DATA_DIR or ./data)')
    .option('--json', 'print the paths and query results as JSON')
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('../commands/demo-command.ts')).demo(flags, signal)),
    );
}
