import { type Command, Option } from 'commander';
import { optionOf } from './choices.ts';
import type { Choose } from './invocation.ts';

/** Adds the commands that need no workspace of the user's. */
export function addTrials(program: Command, choose: Choose): void {
  program
    .command('sandbox')
    .description('serve a generated workspace behind the API, for trying things out')
    .addOption(new Option('--port <port>', 'port, or 0 for any').default('4010'))
    .addOption(new Option('--seed <number>', 'the same seed gives the same workspace').default('1'))
    .addOption(new Option('--brands <number>', 'how many brands').default('2'))
    .addOption(new Option('--prompts <number>', 'how many prompts each brand has').default('20'))
    .addOption(new Option('--days <number>', 'how many days of history').default('60'))
    .option('--responses-per-day <number>', 'answers of each brand a day (default: one a prompt and engine)')
    .addOption(new Option('--rate-limit <number>', 'requests a minute, or off').default('120'))
    .addOption(optionOf('--window <kind>', 'how requests are counted', ['sliding', 'fixed']).default('sliding'))
    .addOption(new Option('--latency-ms <number>', 'wait before each answer').default('0'))
    .option('--faults <list>', 'what goes wrong, such as 429=0.02,500=3x,reset=0.01@/path')
    .option('--json', 'print the address and the key as JSON')
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/sandbox.ts')).sandbox(flags, signal)),
    );

  program
    .command('demo')
    .description('see it work: a sandbox, a sync, a snapshot, three questions')
    .option('--data-dir <folder>', 'where data are kept (default: SIGHTLINE_DATA_DIR or ./data)')
    .option('--json', 'print where things are and the answers as JSON')
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/demo.ts')).demo(flags, signal)),
    );
}
