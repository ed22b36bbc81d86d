/** Exit codes of the command line. */
export const EXIT = { done: 0, failed: 1, usage: 2, partial: 3, locked: 4, interrupted: 130 } as const;

interface ErrorKind {
  /** Exit code when the error ends a command. */
  readonly exit: number;
  /** HTTP status with which the read server says it; none where it never does. */
  readonly status?: number;
  /** What happened, for the reference. */
  readonly about: string;
  /** What to do about it. */
  readonly hint: string;
}

/**
 * Every error sightline can end with or answer with, in one table: the command line, the read server and the README
 * read it, and a test holds the README to it.
 */
export const errorTable = {
  usage: {
    exit: EXIT.usage,
    about: 'A command, flag or argument is unknown or malformed.',
    hint: 'See `sightline --help` or `sightline <command> --help`.',
  },
  config_invalid: {
    exit: EXIT.usage,
    about: 'A setting from the environment, `.env` or `sightline.config.json` is missing or has a value not allowed.',
    hint: 'Correct the setting that the message names.',
  },
  unreachable: {
    exit: EXIT.failed,
    about: 'The upstream API did not answer: refused, reset, timed out or unknown host.',
    hint: 'Check SIGHTLINE_BASE_URL and the network, then run the command again; it goes on where it stopped.',
  },
  plan_too_large: {
    exit: EXIT.failed,
    about:
      'A sync plans far more requests than the last complete one took, so a count or a date from upstream may be wrong.',
    hint: 'See `sightline plan` for the reasons. If they are right, run `sightline sync --accept-plan`.',
  },
  bad_answer: {
    exit: EXIT.failed,
    about: 'Upstream answered with something that is not what the API specifies, such as a page that is not JSON.',
    hint: 'Check that SIGHTLINE_BASE_URL is the root of the versioned API (it usually ends in /v1).',
  },
  clock_differs: {
    exit: EXIT.failed,
    about: "Upstream's clock and this machine's differ by more than 36 hours, so the current day is not known.",
    hint: 'Correct the clock of this machine. If upstream is meant to be at another date, set SIGHTLINE_CLOCK=upstream.',
  },
  unauthorized: {
    exit: EXIT.failed,
    status: 401,
    about: 'The key is missing, unknown, revoked or expired: upstream said so, or the read server does.',
    hint: "Check SIGHTLINE_API_KEY against the app's API keys settings; the read server's own keys are listed by `sightline keys list`.",
  },
  plan_required: {
    exit: EXIT.failed,
    status: 403,
    about: 'Upstream refuses the workspace (403 plan_required, or 403 for the list of brands): it has no active plan.',
    hint: 'Activate a plan in the app; the key works again then. Nothing already copied is lost.',
  },
  not_found: {
    exit: EXIT.failed,
    status: 404,
    about: 'There is nothing at the address, or no brand or article with the id.',
    hint: 'Check that SIGHTLINE_BASE_URL is the root of the versioned API (it usually ends in /v1).',
  },
  refused: {
    exit: EXIT.failed,
    about: 'Upstream refused a request (a 403 of one endpoint, another 4xx, or a redirect).',
    hint: "Read upstream's message; when it names a parameter that sightline sends, that is a bug worth reporting.",
  },
  upstream_failed: {
    exit: EXIT.failed,
    about: 'Upstream kept failing (429 or 5xx) until the attempts were used up.',
    hint: 'Run the command again later; it goes on where it stopped.',
  },
  budget_unreachable: {
    exit: EXIT.failed,
    about: 'The database that holds the budget which workers of several machines share does not answer, or refuses.',
    hint: 'Check the variable that the message names, and the database, with `sightline doctor`; then run the command again.',
  },
  queue_unreachable: {
    exit: EXIT.failed,
    about: 'The database that holds the queue which workers share does not answer, or refuses.',
    hint: 'Check the variable that the message names, and the database; then run the command again.',
  },
  folder_unwritable: {
    exit: EXIT.failed,
    about: 'The data folder cannot be created or written to.',
    hint: 'Set SIGHTLINE_DATA_DIR (or --data-dir) to a folder that this user may write to.',
  },
  disk_full: {
    exit: EXIT.failed,
    about: 'There is no room left on the disk.',
    hint: 'Make room and run the command again; what was committed is kept.',
  },
  out_of_memory: {
    exit: EXIT.failed,
    about: 'DuckDB needs more memory than it may use.',
    hint: 'Run the command again while less else runs; what was committed is kept.',
  },
  too_many_files: {
    exit: EXIT.failed,
    about: 'The process has as many files and connections open as the system allows.',
    hint: 'Raise the limit with `ulimit -n 1024` (`LimitNOFILE=` in systemd), then run the command again; what was committed is kept.',
  },
  publish_failed: {
    exit: EXIT.failed,
    about: 'The object store that `publish` names refused, did not answer, or does not do what publishing needs.',
    hint: 'Run `sightline doctor`, which tries what publishing needs, then `sightline export` again; the folder has the snapshot.',
  },
  home_failed: {
    exit: EXIT.failed,
    about: 'The object store that `home` names refused, did not answer, or holds something else than it should.',
    hint: 'Run `sightline doctor`, which tries what a home needs, then the command again; it goes on where it stopped.',
  },
  lease_lost: {
    exit: EXIT.failed,
    about: 'A process that had a workspace checked out was taken for dead, or could not renew its claim in time.',
    hint: 'Nothing is to be done where another took the work over; otherwise run the command again, which goes on where it stopped.',
  },
  warehouse_invalid: {
    exit: EXIT.failed,
    about: 'A database file is not a DuckDB database, is damaged, or has tables that are not what they should be.',
    hint: 'Run `sightline doctor`, which checks every file of the workspace and names the command that mends it.',
  },
  warehouse_newer: {
    exit: EXIT.failed,
    about: 'The warehouse was written by a newer sightline.',
    hint: 'Update sightline.',
  },
  warehouse_locked: {
    exit: EXIT.locked,
    about: 'Another process owns the warehouse.',
    hint: 'Wait until it has finished, or stop it. `sightline sql` works meanwhile.',
  },
  owner_untrusted: {
    exit: EXIT.failed,
    about:
      'The process that serves the workspace cannot be trusted: another user owns or can change its claim file, socket or folder, or it does not know the secret of the claim.',
    hint: 'Run `sightline doctor --fix`, which corrects permissions. If no `sightline serve` of yours is running, remove serving.json from the folder of the workspace.',
  },
  no_data: {
    exit: EXIT.failed,
    status: 503,
    about: 'The workspace holds nothing to read yet.',
    hint: 'Run `sightline sync` first.',
  },
  sql_invalid: {
    exit: EXIT.usage,
    about: 'DuckDB rejected the query: a syntax error, an unknown name, or a value that cannot be computed.',
    hint: 'Correct the query.',
  },
  sql_rejected: {
    exit: EXIT.usage,
    about: 'The query has a statement or a function that does more than read tables and views.',
    hint: 'Use statements that only read tables and views. To write a file, use `sightline sql --output FILE` or `sightline export`.',
  },
  query_limit: {
    exit: EXIT.failed,
    about: 'A query exceeded its limit of time, memory, rows or bytes, which the message names.',
    hint: 'Ask for less, or raise the limit: `sightline sql` has `--timeout` and `--max-memory`. For many rows, write `--output rows.parquet`.',
  },
  query_crashed: {
    exit: EXIT.failed,
    about: 'The process that ran a query ended unexpectedly, or DuckDB failed with an internal error.',
    hint: 'The data are unchanged. Simplify the query, or ask for less; if it ends like this again, please report the query.',
  },
  interrupted: {
    exit: EXIT.interrupted,
    about: 'The command was stopped by Ctrl-C or a signal.',
    hint: 'Run it again; it goes on where it stopped.',
  },
  invalid_parameter: {
    exit: EXIT.usage,
    status: 400,
    about: 'A parameter of a request is unknown, malformed, given twice or out of bounds.',
    hint: 'Correct the parameter that the message names.',
  },
  bad_request: {
    exit: EXIT.failed,
    status: 400,
    about: 'What came is no HTTP request that the read server can read.',
    hint: 'Check the request line, the headers and their lengths.',
  },
  request_timeout: {
    exit: EXIT.failed,
    status: 408,
    about: 'A client took longer to send its request than the read server waits.',
    hint: 'Send the request at once.',
  },
  forbidden: {
    exit: EXIT.failed,
    status: 403,
    about: 'The request comes from a web page, or for a host name, that the read server does not answer.',
    hint: 'Allow the origin with `--cors-origin`, or the host name with `--allow-host`.',
  },
  method_not_allowed: {
    exit: EXIT.failed,
    status: 405,
    about: 'The API is read-only: it takes GET and HEAD.',
    hint: 'Use GET.',
  },
  body_too_large: {
    exit: EXIT.failed,
    status: 413,
    about: 'The body of a request is larger than the read server takes.',
    hint: 'Send less; only MCP requests have a body.',
  },
  uri_too_long: {
    exit: EXIT.failed,
    status: 414,
    about: 'The address of a request is longer than the read server takes.',
    hint: 'Shorten the parameters.',
  },
  range_not_satisfiable: {
    exit: EXIT.failed,
    status: 416,
    about: 'A part of a file was asked for that begins after its end.',
    hint: 'Ask for the file again, whole: it is another than the one whose length you know.',
  },
  rate_limited: {
    exit: EXIT.failed,
    status: 429,
    about: 'More requests than allowed in a minute for the key, or too many wrong keys from the address.',
    hint: 'Wait as long as Retry-After says, then go on.',
  },
  headers_too_large: {
    exit: EXIT.failed,
    status: 431,
    about: 'The headers of a request are larger than the read server takes.',
    hint: 'Send fewer or shorter headers.',
  },
  overloaded: {
    exit: EXIT.failed,
    status: 503,
    about: 'The read server has as many queries waiting as it allows, or is shutting down.',
    hint: 'Wait as long as Retry-After says, then try again.',
  },
  query_timeout: {
    exit: EXIT.failed,
    status: 503,
    about: 'A query took longer than the read server allows and was stopped.',
    hint: 'Ask for a shorter range, or raise `--query-timeout`.',
  },
  internal: {
    exit: EXIT.failed,
    status: 500,
    about: 'Something happened that should not have.',
    hint: 'Run the command again with --verbose, and report what it prints.',
  },
} as const satisfies Record<string, ErrorKind>;

/** A code of the error table. */
export type ErrorCode = keyof typeof errorTable;

/** The text without what looks like an API key: a key may stand wherever a user has put it by mistake. */
export function hideKeys(text: string): string {
  return text.replace(/gsk_[\w.~+/=-]{4,}/g, 'gsk_…');
}

/** An error a user can act on: a code of the table and one sentence that says what and where; never a key. */
export class SightlineError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(hideKeys(message), options);
    this.name = 'SightlineError';
    this.code = code;
  }

  get exit(): number {
    return errorTable[this.code].exit;
  }

  get hint(): string {
    return errorTable[this.code].hint;
  }
}

// `ulimit -n`, from a report of Node, which opens no file.
function openFilesLimit(): string {
  const report = (process.report?.getReport() ?? {}) as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = report.userLimits?.open_files?.soft;
  return soft === undefined ? '' : `; \`ulimit -n\` allows ${String(soft)}`;
}

/** The kind of error with which every message of DuckDB begins, such as `IO Error: `. */
const DUCKDB_PROSE = /^([A-Z][A-Za-z]*(?: [A-Za-z]+){0,3} Error): /;

/** Turns anything thrown into a SightlineError; system errors that have a code of their own in the table get it. */
export function toSightlineError(thrown: unknown): SightlineError {
  if (thrown instanceof SightlineError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const system = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  if (
    system === 'ENOSPC' ||
    system === 'EDQUOT' ||
    /No space left on device|failed to offload data block/i.test(message)
  ) {
    const shown = DUCKDB_PROSE.test(message) ? 'DuckDB found no room left on the disk' : message;
    return new SightlineError('disk_full', shown, { cause: thrown });
  }
  if (system === 'EMFILE' || system === 'ENFILE' || /Too many open files/i.test(message)) {
    const shown = `too many open files${openFilesLimit()}`;
    return new SightlineError('too_many_files', shown, { cause: thrown });
  }
  if (system === 'EACCES' || system === 'EROFS' || system === 'EPERM') {
    return new SightlineError('folder_unwritable', message, { cause: thrown });
  }
  const [, prose] = DUCKDB_PROSE.exec(message) ?? [];
  const shown = prose === undefined ? message : `DuckDB failed unexpectedly (${prose})`;
  return new SightlineError('internal', shown, { cause: thrown });
}
