import { Command, CommanderError, Option } from 'commander';
import { SightlineError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { optionOf } from './choices.ts';
import type { Choose, Invocation } from './invocation.ts';
import { addCare } from './program-care.ts';
import { addJobs } from './program-jobs.ts';
import { addReading } from './program-reading.ts';
import { addRecords } from './program-records.ts';
import { addSetup } from './program-setup.ts';

/**
 * Reads the command line. Returns what to run, or null when help or the version was asked for and printed. Throws
 * `usage` for anything it does not know. Commands are loaded when they are run, so that help is quick.
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
    const said = thrown.message.replace(/^error: /, '').replaceAll('\n', ' ');
    const names = program.commands.map((command) => command.name()).join(', ');
    const told = thrown.code === 'commander.unknownCommand' ? `; allowed: ${names}` : '';
    throw new SightlineError('usage', `${said}${told}`, { cause: thrown });
  }
  return chosen.invocation;
}

/** The command line as commander has it; `choose` is told what was asked for. */
export function createProgram(choose: Choose): Command {
  const program = new Command('sightline')
    .description(
      "Copies a workspace's AI-visibility data into a DuckDB warehouse that you own, exactly and within the API's budget.",
    )
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
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
  SIGHTLINE_DATA_DIR   where data are kept (default ./data)

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 partial (the next run goes on),
            4 another process owns the warehouse, 130 interrupted`,
    );
  const onWorkspace = (command: Command): Command =>
    command
      .option('-w, --workspace <workspace>', 'the workspace (default: the one that is configured)')
      .option('--data-dir <folder>', 'where data are kept (default: SIGHTLINE_DATA_DIR or ./data)')
      .option('--json', 'print the result as JSON on standard output');

  onWorkspace(program.command('sync'))
    .description('copy what the API has into the warehouse')
    .option('--only <resources...>', 'only these resources, and what they depend on')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the whole history)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--base-url <url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)')
    .option('--full', 'read everything again, whatever is known of it')
    .option('--max-requests <number>', 'stop after so many requests; the next run goes on')
    .option('--max-minutes <number>', 'stop after so many minutes')
    .option('--until <time>', 'stop at a time of the day, HH:MM, local')
    .option('--all', 'every configured workspace, side by side')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('./commands/sync.ts')).sync(flags, signal),
        // Workspaces side by side have an owner each, or none.
        flags.all === true ? undefined : { flags, needsWarehouse: true },
      ),
    );

  onWorkspace(program.command('plan'))
    .description('say what a sync would ask for now, what that costs, and why')
    .option('--only <resources...>', 'only these resources, and what they depend on')
    .option('--brand <ids...>', 'only these brands')
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the whole history)')
    .option('--to <day>', 'last day, YYYY-MM-DD (default: today)')
    .option('--base-url <url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)')
    .option('--full', 'as if everything were read again')
    .option('--offline', "ask nothing of upstream: plan from what is held and from upstream's last counts")
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/plan.ts')).plan(flags, signal)),
    );

  addRecords(program, onWorkspace, choose);

  onWorkspace(program.command('replay'))
    .description('build tables anew from the pages that syncs have kept, without a request')
    .option('--from <day>', 'first day on which pages were read, YYYY-MM-DD (default: the first there is)')
    .option('--to <day>', 'last day on which pages were read, YYYY-MM-DD (default: the last there is)')
    .option('--only <resources...>', 'only these resources, and those that fill the same tables')
    .option('--into <file>', 'build a new file and leave the warehouse as it is')
    .option('--accept-missing', 'replace the warehouse even by one that lacks some of its rows')
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/replay.ts')).replay(flags, signal)),
    );

  onWorkspace(program.command('export'))
    .description('publish a Parquet snapshot of every table, or write some of the data as plain files')
    .option('--tables <tables...>', 'only these tables or views, such as one of mart.* (default: every table)')
    .option('--from <day>', 'rows from this day on, YYYY-MM-DD, of what has days')
    .option('--to <day>', 'rows up to this day, included')
    .option('--brand <ids...>', 'only rows of these brands')
    .addOption(
      optionOf('--format <format>', 'what plain files are, one a table (default: parquet)', [
        'parquet',
        'csv',
        'ndjson',
        'arrow',
      ]),
    )
    .addOption(optionOf('--compression <name>', 'of Parquet (default: as configured)', ['snappy', 'zstd']))
    .option('-o, --output <folder>', 'where plain files go; - is standard output, for one table')
    .action((flags) =>
      choose(
        flags.json === true,
        async (signal) => (await import('./commands/export.ts')).exportCommand(flags, signal),
        // Plain files are written from the copy, which anybody may read.
        flags.output === undefined ? { flags, needsWarehouse: true } : undefined,
      ),
    );

  addReading(program, onWorkspace, choose);

  onWorkspace(program.command('serve'))
    .description('answer the API from the copy, over REST and MCP, and run jobs when they are due, until it is stopped')
    .addOption(new Option('--host <address>', 'the address to listen on').default('127.0.0.1'))
    .addOption(new Option('--port <port>', 'port, or 0 for any').default('4000'))
    .option('--metrics-port <port>', 'serve Prometheus metrics on this port, or on any with 0')
    .addOption(new Option('--rate-limit <number>', 'requests a minute for each key, or off').default('120'))
    .addOption(new Option('--query-timeout <seconds>', 'longest time for one query').default('30'))
    .option('--cors-origin <origins...>', 'let pages of these origins read answers')
    .option('--allow-host <names...>', 'answer under these host names too, when listening on loopback')
    .addOption(
      optionOf('--log-level <level>', 'how much is logged to standard error', [
        'silent',
        'fatal',
        'error',
        'warn',
        'info',
        'debug',
        'trace',
      ]).default('info'),
    )
    .addOption(
      new Option('--status-page <who>', 'show the status page to holders of a key, on loopback to all, or off').default(
        'key',
      ),
    )
    .option('--no-jobs', 'run no jobs meanwhile')
    .action((flags) =>
      choose(flags.json === true, async (signal) =>
        (await import('./commands/serve.ts')).serve(flags, signal, parseArguments),
      ),
    );

  addJobs(program, onWorkspace, choose);
  addCare(program, onWorkspace, choose);
  addKeys(program.command('keys'), onWorkspace, choose);
  addSetup(program, onWorkspace, choose);

  onWorkspace(program.command('mcp'))
    .description('answer AI assistants over MCP on standard input and output')
    .addOption(new Option('--query-timeout <seconds>', 'longest time for one query').default('30'))
    // Standard output is the protocol's alone.
    .action((flags) => choose(false, async (signal) => (await import('./commands/mcp.ts')).mcp(flags, signal)));

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

  return program;
}

function addKeys(keys: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  keys
    .description('make, list and revoke the keys of `serve`')
    .argument('[command]')
    .action((given: string | undefined) => {
      const what = given === undefined ? 'needs a command' : `has no command ${JSON.stringify(given)}`;
      throw new SightlineError('usage', `keys ${what}; allowed: create, list, revoke`);
    });
  onWorkspace(keys.command('create'))
    .description('make a key and print it, once')
    .argument('<name>', 'what the key is for')
    .option('--expires <when>', 'a number of days, such as 30d, or the last day, YYYY-MM-DD (default: never)')
    .action((name, flags) =>
      choose(flags.json === true, async () => (await import('./commands/keys.ts')).createKeyCommand(name, flags), {
        flags,
        needsWarehouse: false,
      }),
    );
  onWorkspace(keys.command('list'))
    .description('list the keys there are')
    .action((flags) =>
      choose(flags.json === true, async () => (await import('./commands/keys.ts')).listKeysCommand(flags), {
        flags,
        needsWarehouse: false,
      }),
    );
  onWorkspace(keys.command('revoke'))
    .description('make a key useless, at once')
    .argument('<key>', 'its name, prefix or id')
    .action((which, flags) =>
      choose(flags.json === true, async () => (await import('./commands/keys.ts')).revokeKeyCommand(which, flags), {
        flags,
        needsWarehouse: false,
      }),
    );
}
