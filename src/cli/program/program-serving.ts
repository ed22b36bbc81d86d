import { type Command, Option } from 'commander';
import { SightlineError } from '../../base/errors.ts';
import type { Choose, Parse } from '../invocation.ts';
import { logLevelOption, optionOf } from './choices.ts';

/** Adds `serve`, which uses `parse` for the command lines of its clients. */
export function addServe(
  program: Command,
  onWorkspace: (command: Command) => Command,
  choose: Choose,
  parse: Parse,
): void {
  onWorkspace(program.command('serve'))
    .description('serve the copy over REST and MCP, and run due jobs, until stopped')
    .addOption(new Option('--host <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(new Option('--port <port>', 'port, or 0 for any').default('4000'))
    .option('--metrics-port <port>', 'serve Prometheus metrics on this port, or on any with 0')
    .addOption(new Option('--rate-limit <number>', 'requests per minute for each key, or off').default('120'))
    .addOption(new Option('--query-timeout <seconds>', 'time limit of a query').default('30'))
    .option('--cors-origin <origins...>', 'allow browser requests from these origins')
    .option('--allow-host <names...>', 'also accept these host names when listening on loopback')
    .addOption(logLevelOption())
    .addOption(
      new Option(
        '--status-page <who>',
        'access to the status page: key (requires a key), loopback (everyone on this machine) or off',
      ).default('key'),
    )
    .option('--no-jobs', 'do not run jobs')
    .addOption(
      optionOf('--role <role>', 'all: serve one workspace and run its jobs; api: serve all workspaces, without jobs', [
        'all',
        'api',
      ]).default('all'),
    )
    .addOption(
      new Option('--refresh <seconds>', 'with --role api, interval between checks for newer copies').default('30'),
    )
    .addOption(
      new Option('--open-workspaces <number>', 'with --role api, maximum number of open workspaces').default('16'),
    )
    .action((flags) =>
      choose(flags.json === true, async (signal) =>
        (await import('../commands/serve-command.ts')).serve(flags, signal, parse),
      ),
    );
}

/** Adds the `mcp` command. */
export function addMcp(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('mcp'))
    .description('serve AI assistants over MCP on standard input and output')
    .addOption(new Option('--query-timeout <seconds>', 'time limit of a query').default('30'))
    // Standard output carries the protocol only, so there is no --json.
    .action((flags) =>
      choose(false, async (signal) => (await import('../commands/mcp-command.ts')).mcp(flags, signal)),
    );
}

/** Adds the commands for the keys of `serve`. */
export function addKeys(keys: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  keys
    .description('create, list and revoke the keys of `serve`')
    .argument('[command]')
    .action((given: string | undefined) => {
      const problem = given === undefined ? 'requires a command' : `has no command ${JSON.stringify(given)}`;
      throw new SightlineError('usage', `keys ${problem}; allowed: create, list, revoke`);
    });
  onWorkspace(keys.command('create'))
    .description('create a key and print it once')
    .argument('<name>', 'name of the key, such as its user')
    .option('--expires <when>', 'number of days, such as 30d, or the last valid day, YYYY-MM-DD (default: never)')
    .action((name, flags) =>
      choose(
        flags.json === true,
        async () => (await import('../commands/keys-command.ts')).createKeyCommand(name, flags),
        {
          flags,
          needsWarehouse: false,
        },
      ),
    );
  onWorkspace(keys.command('list'))
    .description('list the keys')
    .action((flags) =>
      choose(flags.json === true, async () => (await import('../commands/keys-command.ts')).listKeysCommand(flags), {
        flags,
        needsWarehouse: false,
      }),
    );
  onWorkspace(keys.command('revoke'))
    .description('revoke a key at once')
    .argument('<key>', 'name, prefix or ID of the key')
    .action((which, flags) =>
      choose(
        flags.json === true,
        async () => (await import('../commands/keys-command.ts')).revokeKeyCommand(which, flags),
        {
          flags,
          needsWarehouse: false,
        },
      ),
    );
}
