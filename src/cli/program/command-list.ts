import type { AddTo } from './define-command.ts';

interface ListedCommand {
  readonly about: string;
  load(): Promise<AddTo>;
}

/** Commands with a common purpose, under one heading of the help. Each group has a folder in `commands/`. */
interface CommandGroup {
  readonly title: string;
  readonly commands: Readonly<Record<string, ListedCommand>>;
}

const start: CommandGroup['commands'] = {
  init: {
    about: 'ask for the base URL and key of a workspace, test them, and write the settings',
    load: async () => (await import('../commands/start/init-command.ts')).init,
  },
  sync: {
    about: "copy the API's data into the warehouse",
    load: async () => (await import('../commands/start/sync-command.ts')).sync,
  },
  plan: {
    about: 'show the requests that a sync would send now, with reasons',
    load: async () => (await import('../commands/start/plan-command.ts')).plan,
  },
  demo: {
    about: 'run a demonstration: a sandbox, a sync, a snapshot, three queries',
    load: async () => (await import('../commands/start/demo-command.ts')).demo,
  },
  sandbox: {
    about: 'serve the API with a generated workspace, for experiments',
    load: async () => (await import('../commands/start/sandbox-command.ts')).sandbox,
  },
  completion: {
    about: 'print the script with which a shell completes commands and flags',
    load: async () => (await import('../commands/start/completion-command.ts')).completion,
  },
  help: {
    about: 'show the help of a command, such as `help state reset`',
    load: async () => (await import('../commands/start/help-command.ts')).help,
  },
};

const use: CommandGroup['commands'] = {
  sql: {
    about:
      'query the data with read-only SQL, even while a sync is running; without a query, start an interactive shell',
    load: async () => (await import('../commands/use/sql-command.ts')).sql,
  },
  describe: {
    about: 'list the tables, or describe the columns of one',
    load: async () => (await import('../commands/use/describe-command.ts')).describe,
  },
  metrics: {
    about: 'list and compute measures, such as visibility by engine and week, with intervals and tested changes',
    load: async () => (await import('../commands/use/metrics-command.ts')).metrics,
  },
  brief: {
    about: 'say what happened to a brand, in a headline and at most four findings',
    load: async () => (await import('../commands/use/brief-command.ts')).brief,
  },
  explain: {
    about: 'explain the change of a metric: causes with evidence, and effects that add up to the change',
    load: async () => (await import('../commands/use/explain-command.ts')).explain,
  },
  changes: {
    about: 'list changes of prompts, sources, articles, forum threads, competitors and upstream',
    load: async () => (await import('../commands/use/changes-command.ts')).changes,
  },
  opportunities: {
    about: 'list source gaps, prompts that competitors win, cited forum threads, and pages that are cited once',
    load: async () => (await import('../commands/use/opportunities-command.ts')).opportunities,
  },
  report: {
    about: 'write a self-contained HTML report with charts for each brand',
    load: async () => (await import('../commands/use/report-command.ts')).report,
  },
  export: {
    about: 'publish a Parquet snapshot of every table, or write selected data as plain files',
    load: async () => (await import('../commands/use/export-command.ts')).exportCommand,
  },
  load: {
    about: 'make the tables of other databases, such as PostgreSQL or DuckLake, equal to those of the warehouse',
    load: async () => (await import('../commands/use/load-command.ts')).load,
  },
  connect: {
    about: 'print the line that opens the replica in another tool',
    load: async () => (await import('../commands/use/connect-command.ts')).connect,
  },
  serve: {
    about: 'serve the data over REST and MCP, and run due jobs, until stopped',
    load: async () => (await import('../commands/use/serve-command.ts')).serve,
  },
  open: {
    about: 'open the pages of the running server in the browser, signed in',
    load: async () => (await import('../commands/use/open-command.ts')).open,
  },
  sessions: {
    about: 'list the browsers that are signed in, and sign them out',
    load: async () => (await import('../commands/use/sessions-command.ts')).sessions,
  },
  keys: {
    about: 'create, list and revoke the keys of `serve`',
    load: async () => (await import('../commands/use/keys-command.ts')).keys,
  },
  mcp: {
    about: 'serve AI assistants over MCP on standard input and output',
    load: async () => (await import('../commands/use/mcp-command.ts')).mcp,
  },
};

const operate: CommandGroup['commands'] = {
  status: {
    about: 'show freshness, gaps and health of the data, even while a sync is running',
    load: async () => (await import('../commands/operate/status-command.ts')).status,
  },
  doctor: {
    about: 'check the installation and the data, and print the next step for each problem',
    load: async () => (await import('../commands/operate/doctor-command.ts')).doctor,
  },
  verify: {
    about: "check the stored data against the API's own counts",
    load: async () => (await import('../commands/operate/verify-command.ts')).verify,
  },
  compare: {
    about: 'ask the API and the local data the same generated questions, and list the responses that differ',
    load: async () => (await import('../commands/operate/compare-command.ts')).compare,
  },
  calibration: {
    about: 'show how the API computes and orders what its specification leaves open, with the evidence',
    load: async () => (await import('../commands/operate/calibration-command.ts')).calibration,
  },
  endpoints: {
    about: "list the endpoints in the API's OpenAPI document, and whether they are mirrored",
    load: async () => (await import('../commands/operate/endpoints-command.ts')).endpoints,
  },
  runs: {
    about: 'list the requests of each run, or of one run by resource',
    load: async () => (await import('../commands/operate/runs-command.ts')).runs,
  },
  jobs: {
    about: 'list the scheduled jobs and their next runs, or run a job now',
    load: async () => (await import('../commands/operate/jobs-command.ts')).jobs,
  },
  notify: {
    about:
      'list the webhooks and mailboxes for failures, drift, stale data and briefs; with --test, send each a test message',
    load: async () => (await import('../commands/operate/notify-command.ts')).notify,
  },
  backup: {
    about: 'write the warehouse to a single DuckDB file and check it, even while it is in use',
    load: async () => (await import('../commands/operate/backup-command.ts')).backup,
  },
  restore: {
    about: 'rebuild the warehouse from a backup or from a snapshot folder',
    load: async () => (await import('../commands/operate/restore-command.ts')).restore,
  },
  replay: {
    about: 'rebuild tables from stored raw pages, without requests',
    load: async () => (await import('../commands/operate/replay-command.ts')).replay,
  },
  state: {
    about: 'list or reset the state from which syncs resume',
    load: async () => (await import('../commands/operate/state-command.ts')).state,
  },
};

const scale: CommandGroup['commands'] = {
  worker: {
    about: 'run the due jobs of all configured workspaces, in parallel with other workers, until stopped',
    load: async () => (await import('../commands/scale/worker-command.ts')).worker,
  },
  cluster: {
    about: 'show the workers and their queue, or enqueue jobs',
    load: async () => (await import('../commands/scale/cluster-command.ts')).cluster,
  },
};

/** All commands, in the order of the help. A command is loaded when it is used, so that help is fast. */
export const commandGroups: readonly CommandGroup[] = [
  { title: 'Start', commands: start },
  { title: 'Use the data', commands: use },
  { title: 'Operate', commands: operate },
  { title: 'Scale to many workspaces', commands: scale },
];

/** All commands by name. */
export const commands: Readonly<Record<string, ListedCommand>> = { ...start, ...use, ...operate, ...scale };
