import { Command, CommanderError } from 'commander';
import { SightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import type { Choose, Invocation } from '../invocation.ts';
import { addCare } from './program-care.ts';
import { addCluster } from './program-cluster.ts';
import { addJobs } from './program-jobs.ts';
import { addReading } from './program-reading.ts';
import { addRecords } from './program-records.ts';
import { addKeys, addMcp, addServe } from './program-serving.ts';
import { addSetup } from './program-setup.ts';
import { addMaking, addSync } from './program-sync.ts';
import { addTrials } from './program-trials.ts';

/**
 * Parses the command line. Returns the command to run, or null after printing help or the version. Loads commands only when they
 * run, so that help is fast.
 *
 * @throws `usage` for unknown commands and flags.
 */
export async function parseArguments(argv: readonly string[]): Promise<Invocation | null> {
  const chosen: { invocation: Invocation | null } = { invocation: null };
  const program = createProgram((json, action, carried = undefined) => {
    chosen.invocation = { json, action, carried: carried ?? null };
  });
  if (argv.length === 0) {
    program.outputHelp();
    return null;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0) return null;
    const problem = thrown.message.replace(/^error: /, '').replaceAll('\n', ' ');
    const names = program.commands.map((command) => command.name()).join(', ');
    const allowed = thrown.code === 'commander.unknownCommand' ? `; allowed: ${names}` : '';
    throw new SightlineError('usage', `${problem}${allowed}`, { cause: thrown });
  }
  return chosen.invocation;
}

/** Builds the commander program. `choose` is called with the command that a parsed command line selects. */
export function createProgram(choose: Choose): Command {
  const program = new Command('sightline')
    .description(
      "Copies a workspace's AI-visibility data into a DuckDB warehouse that you own, exactly and within the API's budget.",
    )
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .option('--verbose', 'print the causes and stacks of an error')
    .helpCommand(false)
    .showHelpAfterError(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .addHelpText(
      'after',
      `
Settings come from flags, the environment, .env and sightline.config.json, in this order:
  SIGHTLINE_BASE_URL   root of the versioned API, such as https://api.example.com/v1
  SIGHTLINE_API_KEY    the workspace's key; begins with gsk_
  SIGHTLINE_DATA_DIR   data folder (default ./data)

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 partial (the next run resumes),
            4 another process owns the warehouse, 130 interrupted`,
    );
  const onWorkspace = (command: Command): Command =>
    command
      .option('-w, --workspace <workspace>', 'name of the workspace (default: the configured one)')
      .option('--data-dir <folder>', 'data folder (default: SIGHTLINE_DATA_DIR or ./data)')
      .option('--json', 'print the result as JSON on standard output');

  addSync(program, onWorkspace, choose);
  addRecords(program, onWorkspace, choose);
  addMaking(program, onWorkspace, choose);
  addReading(program, onWorkspace, choose);
  addServe(program, onWorkspace, choose, parseArguments);
  addJobs(program, onWorkspace, choose);
  addCluster(program, choose);
  addCare(program, onWorkspace, choose);
  addKeys(program.command('keys'), onWorkspace, choose);
  addSetup(program, onWorkspace, choose);
  addMcp(program, onWorkspace, choose);
  addTrials(program, choose);
  return program;
}
