import { dirname } from 'node:path';
import { describeFree } from './free-space.ts';

/** Exit codes of the command line. */
export const EXIT = { done: 0, failed: 1, usage: 2, partial: 3, locked: 4, interrupted: 130 } as const;

interface ErrorKind {
  /** Exit code of a command that ends with the error. */
  readonly exit: number;
  /** HTTP status of the read server's response; not set if the read server never returns the error. */
  readonly status?: number;
  /** Cause, for `sightline help --errors`. */
  readonly about: string;
  /** Next step for the user. */
  readonly hint: string;
}

/**
 * All errors of the command line and the read server.
 */
export const errorTable = {
  usage: {
    exit: EXIT.usage,
    about: 'A command, flag or argument is unknown or malformed.',
    hint: 'See `sightline --help` or `sightline <command> --help`.',
  },
  config_invalid: {
    exit: EXIT.usage,
    about:
      'A setting from the environment, `.env` or `sightline.config.json` is missing or has a value that is not allowed.',
    hint: 'Correct the setting that the message names. `sightline help --settings` lists all settings.',
  },
  unreachable: {
    exit: EXIT.failed,
    about: 'The upstream API did not respond: connection refused or reset, timeout, or unknown host.',
    hint: 'Check SIGHTLINE_BASE_URL and the network, then run the command again to resume.',
  },
  plan_too_large: {
    exit: EXIT.failed,
    about:
      'A sync plans far more requests than the last complete sync needed, so a count or a date from upstream may be wrong.',
    hint: 'Check the reasons in `sightline plan`. If they are correct, run `sightline sync --accept-plan`.',
  },
  bad_answer: {
    exit: EXIT.failed,
    about: 'An upstream response does not match the API specification, such as a page that is not JSON.',
    hint: 'Check that SIGHTLINE_BASE_URL is the root of the versioned API (it usually ends in /v1).',
  },
  clock_differs: {
    exit: EXIT.failed,
    about: "Upstream's clock and this machine's differ by more than 36 hours, so the current day is unknown.",
    hint: 'Correct the clock of this machine. If upstream uses another date on purpose, set SIGHTLINE_CLOCK=upstream.',
  },
  unauthorized: {
    exit: EXIT.failed,
    status: 401,
    about: 'Upstream or the read server rejected the key: it is missing, unknown, revoked or expired.',
    hint: "Compare SIGHTLINE_API_KEY with the API keys in the app's settings. `sightline keys list` lists the read server's own keys.",
  },
  plan_required: {
    exit: EXIT.failed,
    status: 403,
    about:
      'Upstream rejects requests of the workspace (403 plan_required, or 403 for the list of brands) because it has no active plan.',
    hint: 'Activate a plan in the app; the key then works again. Stored data are not affected.',
  },
  not_found: {
    exit: EXIT.failed,
    status: 404,
    about: 'The URL does not exist, or no brand or article has the id.',
    hint: 'Check that SIGHTLINE_BASE_URL is the root of the versioned API (it usually ends in /v1).',
  },
  refused: {
    exit: EXIT.failed,
    about: 'Upstream rejected a request: 403 for one endpoint, another 4xx, or a redirect.',
    hint: "Read upstream's message. If it names a parameter that sightline sends, please report it as a bug.",
  },
  upstream_failed: {
    exit: EXIT.failed,
    about: 'Upstream failed (429 or 5xx) on every attempt.',
    hint: 'Run the command again later to resume.',
  },
  issuer_unreachable: {
    exit: EXIT.failed,
    status: 503,
    about: 'The keys of the OAuth issuer cannot be fetched, so the read server cannot check access tokens.',
    hint: 'Check the `oauth` setting and the network. The log has the reason; API keys still work.',
  },
  budget_unreachable: {
    exit: EXIT.failed,
    about: 'The database with the shared request budget does not respond or rejects requests.',
    hint: 'Run `sightline doctor` to check the database and the variable in the message, then run the command again.',
  },
  queue_unreachable: {
    exit: EXIT.failed,
    about: 'The database with the job queue does not respond or rejects requests.',
    hint: 'Check the database and the variable in the message, then run the command again.',
  },
  folder_unwritable: {
    exit: EXIT.failed,
    about: 'The data folder cannot be created or written to.',
    hint: 'Set SIGHTLINE_DATA_DIR (or --data-dir) to a folder that this user may write to.',
  },
  file_unusable: {
    exit: EXIT.failed,
    about: 'A file or folder is missing, or is not of the expected kind. The message has its path.',
    hint: 'Check the path and run the command again.',
  },
  disk_full: {
    exit: EXIT.failed,
    about:
      'The disk is full, or has less free space than a sync needs. The message has the folder, its free and the needed space.',
    hint: 'Free disk space and run the command again; committed data are kept.',
  },
  out_of_memory: {
    exit: EXIT.failed,
    status: 503,
    about: 'DuckDB needs more memory than its limit. Requests to a server share its memory.',
    hint: 'Select fewer days, or stop other programs, and try again; committed data are kept.',
  },
  too_many_files: {
    exit: EXIT.failed,
    about: 'The process has reached the limit of open files and connections.',
    hint: 'Raise the limit with `ulimit -n 1024` (`LimitNOFILE=` in systemd), then run the command again; committed data are kept.',
  },
  publish_failed: {
    exit: EXIT.failed,
    about:
      'The object store of the `publish` setting rejected a request, did not respond, or lacks a feature that publishing needs.',
    hint: 'Run `sightline doctor` to test the object store, then `sightline export` again; the folder already has the snapshot.',
  },
  destination_failed: {
    exit: EXIT.failed,
    about:
      'A destination cannot be reached, rejected a statement, has a table of that name that sightline did not create, or was written to at the same time. Nothing was written.',
    hint: 'Correct what the message names and run the command again.',
  },
  destination_newer: {
    exit: EXIT.failed,
    about:
      'A destination has later data of the workspace than this warehouse, such as after a restore, or data of another warehouse under that name. Nothing was written.',
    hint: 'Load from the other warehouse, give the workspace another name, or replace its data with `sightline load --full`.',
  },
  extension_missing: {
    exit: EXIT.failed,
    about:
      'An extension of DuckDB that a destination needs is not in the extension folder and could not be downloaded.',
    hint: 'Set SIGHTLINE_EXTENSION_DIRECTORY to a folder with the extension, or allow access to extensions.duckdb.org.',
  },
  home_conflict: {
    exit: EXIT.failed,
    about:
      'The folder of a workspace and its home (the setting `home`) both have data, or the folder is a copy of a home that is not set. Nothing was replaced.',
    hint: 'Keep one of the two, as the message says; `sightline doctor` shows the state of the home.',
  },
  lease_lost: {
    exit: EXIT.failed,
    about:
      'The process lost its lease on a workspace: it could not renew the lease in time, or another process treated it as dead.',
    hint: 'If another process took over the work, do nothing. Otherwise run the command again to resume.',
  },
  warehouse_invalid: {
    exit: EXIT.failed,
    about:
      'A database file is not a DuckDB database, is damaged, has unexpected tables, or is of an older version of sightline.',
    hint: '`sightline doctor` checks all files of the workspace and names the command that repairs each.',
  },
  warehouse_newer: {
    exit: EXIT.failed,
    about: 'A newer version of sightline wrote the warehouse.',
    hint: 'Update sightline.',
  },
  warehouse_locked: {
    exit: EXIT.locked,
    about: 'Another process owns the warehouse.',
    hint: 'Wait until it has finished, or stop it. Meanwhile `sightline sql` works.',
  },
  no_data: {
    exit: EXIT.failed,
    status: 503,
    about: 'The workspace has no data yet.',
    hint: 'Run `sightline sync` first.',
  },
  sql_invalid: {
    exit: EXIT.usage,
    status: 400,
    about: 'DuckDB rejected the query: a syntax error, an unknown name, or a value that cannot be computed.',
    hint: 'Correct the query.',
  },
  sql_rejected: {
    exit: EXIT.usage,
    status: 400,
    about: 'The query contains a statement or function that does more than read tables and views.',
    hint: 'Use statements that only read tables and views. To write a file, use `sightline sql --output FILE` or `sightline export`.',
  },
  query_limit: {
    exit: EXIT.failed,
    status: 422,
    about: 'A query exceeded a limit of time, memory, rows or bytes; the message names the limit.',
    hint: 'Reduce the query or raise the limit: `sightline sql` has `--timeout` and `--max-memory`. For many rows, write `--output rows.parquet`.',
  },
  query_canceled: {
    exit: EXIT.interrupted,
    status: 409,
    about: 'A query of the SQL page was canceled by its session, or because the server shuts down.',
    hint: 'Run the query again.',
  },
  query_crashed: {
    exit: EXIT.failed,
    status: 500,
    about: 'The process that ran a query ended unexpectedly, or DuckDB failed with an internal error.',
    hint: 'The data are unchanged. Simplify or reduce the query; if it crashes again, please report it.',
  },
  interrupted: {
    exit: EXIT.interrupted,
    about: 'The command was stopped by Ctrl-C or a signal.',
    hint: 'Run the command again to resume.',
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
    about: 'The read server cannot parse the HTTP request.',
    hint: 'Check the request line, the headers and their lengths.',
  },
  request_timeout: {
    exit: EXIT.failed,
    status: 408,
    about: 'A client did not send its request within the time limit of the read server.',
    hint: 'Send the complete request without delay.',
  },
  forbidden: {
    exit: EXIT.failed,
    status: 403,
    about:
      'The origin of the web page or the host name of the request is not allowed, its access token lacks a scope or opens no workspace, or its key can read no brand of the data.',
    hint: 'Allow the origin with `--cors-origin`, the host name with `--allow-host`, or the token with the `oauth` setting.',
  },
  method_not_allowed: {
    exit: EXIT.failed,
    status: 405,
    about: 'The API is read-only: it accepts GET and HEAD.',
    hint: 'Use GET.',
  },
  changed_meanwhile: {
    exit: EXIT.failed,
    status: 412,
    about: 'A saved query exists, or was changed or deleted, since the client read it.',
    hint: 'Read the saved query again, then repeat the change with its new ETag.',
  },
  body_too_large: {
    exit: EXIT.failed,
    status: 413,
    about: 'The body of a request exceeds the limit of the read server.',
    hint: 'Send a smaller body; only MCP requests have one.',
  },
  uri_too_long: {
    exit: EXIT.failed,
    status: 414,
    about: 'The URL of a request exceeds the limit of the read server.',
    hint: 'Shorten the parameters.',
  },
  range_not_satisfiable: {
    exit: EXIT.failed,
    status: 416,
    about: 'The requested range begins after the end of the file.',
    hint: 'Request the complete file again: it has changed since you read its length.',
  },
  rate_limited: {
    exit: EXIT.failed,
    status: 429,
    about: 'The key exceeded its requests per minute, or the IP address sent too many wrong keys.',
    hint: 'Wait for the time in Retry-After, then send the request again.',
  },
  headers_too_large: {
    exit: EXIT.failed,
    status: 431,
    about: 'The headers of a request exceed the limit of the read server.',
    hint: 'Send fewer or shorter headers.',
  },
  overloaded: {
    exit: EXIT.failed,
    status: 503,
    about: 'The queue of the read server is full, or the server is shutting down.',
    hint: 'Wait for the time in Retry-After, then try again.',
  },
  query_timeout: {
    exit: EXIT.failed,
    status: 503,
    about: 'A query exceeded the time limit of the read server and was stopped.',
    hint: 'Request a shorter range, or raise `--query-timeout`.',
  },
  internal: {
    exit: EXIT.failed,
    status: 500,
    about: 'An unexpected error occurred.',
    hint: 'Run the command again with --verbose, and report its output.',
  },
} as const satisfies Record<string, ErrorKind>;

/** A code of the error table. */
export type ErrorCode = keyof typeof errorTable;

/**
 * Replaces everything that looks like an API key, a sign-in link, a session or an access token, because users may paste one into any
 * setting by mistake.
 */
export function hideKeys(text: string): string {
  return text
    .replace(/(gs[kls]_)[\w.~+/=-]{4,}/g, '$1…')
    .replace(/\beyJ[\w-]{8,}(\.[\w-]*){1,4}/g, 'eyJ…')
    .replace(/\b(access_token=)[^&\s"]+/gi, '$1…');
}

/** Facts about an error for programs; the message has them too. */
export interface ErrorFacts {
  /** Name of the parameter that is wrong, as the client wrote it. */
  readonly parameter?: string;
  /** What is allowed instead, as text. */
  readonly allowed?: string;
}

interface SightlineErrorOptions extends ErrorOptions, ErrorFacts {
  /** The next step for the user; default: the one of the code. */
  readonly hint?: string;
}

/**
 * An error for the user: a code of the error table and one sentence about the cause. API keys are removed from the message and the hint.
 * @example throw new SightlineError('usage', `--limit is ${limit}; allowed: 1 to 100`);
 */
export class SightlineError extends Error {
  readonly code: ErrorCode;
  /** The parameter that is wrong, and what is allowed; for errors about a parameter. */
  readonly facts: ErrorFacts;
  readonly #hint: string | null;

  constructor(code: ErrorCode, message: string, { hint, parameter, allowed, ...options }: SightlineErrorOptions = {}) {
    super(hideKeys(message), options);
    this.name = 'SightlineError';
    this.code = code;
    this.facts = {
      ...(parameter === undefined ? {} : { parameter: hideKeys(parameter) }),
      ...(allowed === undefined ? {} : { allowed: hideKeys(allowed) }),
    };
    this.#hint = hint === undefined ? null : hideKeys(hint);
  }

  get exit(): number {
    return errorTable[this.code].exit;
  }

  get hint(): string {
    return this.#hint ?? errorTable[this.code].hint;
  }
}

// The value of `ulimit -n`, from Node's diagnostic report, because reading it needs no open file.
function openFilesLimit(): string {
  const report = (process.report?.getReport() ?? {}) as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = report.userLimits?.open_files?.soft;
  return soft === undefined ? '' : `; \`ulimit -n\` allows ${String(soft)}`;
}

/** The error type at the start of every DuckDB message, such as `IO Error: `. */
const DUCKDB_PROSE = /^([A-Z][A-Za-z]*(?: [A-Za-z]+){0,3} Error): /;

/** What is wrong with a path, by the error code of Node. */
const UNUSABLE: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist, or the folder above it does not',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
  ENOTEMPTY: 'it is a folder that is not empty',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'it is a link that leads to itself',
  EBUSY: 'another program uses it',
};

/** DuckDB's error about a file that it could not open or write, with the path and the reason of the system. */
const DUCKDB_FILE =
  /^IO Error: (?:Cannot|Could not|Failed to) (?:open|create|write|move|rename)\b[^"\n]*"([^"\n]+)": ([A-Z][^\n]*)/;

function describeUnusable(thrown: unknown): string | null {
  const [, file, why] = (thrown instanceof Error && DUCKDB_FILE.exec(thrown.message)) || [];
  if (file !== undefined && why !== undefined) return `cannot use ${file}: ${why}`;
  const { code = '', path, syscall } = thrown instanceof Error ? (thrown as NodeJS.ErrnoException) : {};
  if (syscall === 'uv_cwd') return 'the current folder does not exist any more; change to another one';
  const reason = UNUSABLE[code];
  return path === undefined || reason === undefined ? null : `cannot use ${path}: ${reason}`;
}

/**
 * Converts anything thrown to a SightlineError: a full disk, the open files limit, missing permissions and unusable paths get their own code,
 * everything else gets `internal`. A SightlineError is returned unchanged.
 */
export function toSightlineError(thrown: unknown): SightlineError {
  if (thrown instanceof SightlineError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const system = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  if (
    system === 'ENOSPC' ||
    system === 'EDQUOT' ||
    /No space left on device|Disk quota exceeded|failed to offload data block/i.test(message)
  ) {
    // DuckDB quotes the path; its text has up to ten lines, which are kept as the cause.
    const path = (thrown as NodeJS.ErrnoException | null)?.path ?? /file "([^"]+)"/.exec(message)?.[1];
    const free = path === undefined ? '' : `: ${describeFree(dirname(path))}`;
    return new SightlineError('disk_full', `cannot write because the disk is full${free}`, { cause: thrown });
  }
  if (system === 'EMFILE' || system === 'ENFILE' || /Too many open files/i.test(message)) {
    const shown = `too many open files${openFilesLimit()}`;
    return new SightlineError('too_many_files', shown, { cause: thrown });
  }
  if (system === 'EACCES' || system === 'EROFS' || system === 'EPERM') {
    return new SightlineError('folder_unwritable', message, { cause: thrown });
  }
  const unusable = describeUnusable(thrown);
  if (unusable !== null) return new SightlineError('file_unusable', unusable, { cause: thrown });
  const [, prose] = DUCKDB_PROSE.exec(message) ?? [];
  const shown = prose === undefined ? message : `DuckDB failed unexpectedly (${prose})`;
  return new SightlineError('internal', shown, { cause: thrown });
}
