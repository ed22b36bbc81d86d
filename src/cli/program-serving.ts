import { type Command, Option } from 'commander';
import { SightlineError } from '../base/errors.ts';
import { logLevelOption, optionOf } from './choices.ts';
import type { Choose, Parse } from './invocation.ts';

/** Adds `serve`, which reads others' command lines as `parse` does. */
export function addServe(
  program: Command,
  onWorkspace: (command: Command) => Command,
  choose: Choose,
  parse: Parse,
): void {
  onWorkspace(program.command('serve'))
    .description('answer the API from the copy, over REST and MCP, and run jobs when they are due, until it is stopped')
    .addOption(new Option('--host <address>', 'the address to listen on').default('127.0.0.1'))
    .addOption(new Option('--port <port>', 'port, or 0 for any').default('4000'))
    .option('--metrics-port <port>', 'serve Prometheus metrics on this port, or on any with 0')
    .addOption(new Option('--rate-limit <number>', 'requests a minute for each key, or off').default('120'))
    .addOption(new Option('--query-timeout <seconds>', 'longest time for one query').default('30'))
    .option('--cors-origin <origins...>', 'let pages of these origins read answers')
    .option('--allow-host <names...>', 'answer under these host names too, when listening on loopback')
    .addOption(logLevelOption())
    .addOption(
      new Option('--status-page <who>', 'show the status page to holders of a key, on loopback to all, or off').default(
        'key',
      ),
    )
    .option('--no-jobs', 'run no jobs meanwhile')
    .addOption(
      optionOf(
        '--role <role>',
        'all: one workspace, with its jobs; api: all workspaces, each to its keys, and no jobs',
        ['all', 'api'],
      ).default('all'),
    )
    .addOption(
      new Option('--refresh <seconds>', 'with --role api, how often newer copies are looked for').default('30'),
    )
    .addOption(
      new Option('--open-workspaces <number>', 'with --role api, how many workspaces are kept open').default('16'),
    )
    .action((flags) =>
      choose(flags.json === true, async (signal) => (await import('./commands/serve.ts')).serve(flags, signal, parse)),
    );
}

/** Adds `mcp`. */
export function addMcp(program: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
  onWorkspace(program.command('mcp'))
    .description('answer AI assistants over MCP on standard input and output')
    .addOption(new Option('--query-timeout <seconds>', 'longest time for one query').default('30'))
    // Standard output is the protocol's alone.
    .action((flags) => choose(false, async (signal) => (await import('./commands/mcp.ts')).mcp(flags, signal)));
}

/** Adds the commands on the keys of `serve`. */
export function addKeys(keys: Command, onWorkspace: (command: Command) => Command, choose: Choose): void {
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
