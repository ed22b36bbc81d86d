import { literal, quoted } from './schema.ts';

/** Comments on the tables of schema `sync`. */
const tables: Readonly<Record<string, string>> = {
  answers: 'Responses of upstream that are kept as evidence for the calibration.',
  audits: 'The last comparison of each day of a list with the day counts of upstream.',
  calibration: 'How upstream computes and writes its numbers, found by comparing its numbers with the stored rows.',
  checkpoints: 'Pages of slices that are not finished; the next run resumes after them.',
  comparisons: 'Questions asked of upstream and of the stored data, with the differences.',
  coverage: 'Slices that were read completely: one row per slice, with the last time.',
  drift: 'Differences between the responses of upstream and the declarations; counted, never fatal.',
  echoed_days: 'Current days in the time zones of analytics properties, from which the zones are inferred.',
  endpoints: 'Endpoints in the OpenAPI document of upstream that no declaration describes.',
  unconfirmed_deletions: 'Mass deletions that await confirmation with sightline sync --accept-deletions.',
  listings: 'The order in which upstream sent its lists.',
  marks: 'Current marks: owners of domains, and actions and opportunities that are done or hidden.',
  meta: 'The version of the tables in this schema.',
  quarantine: 'Items of upstream that could not be stored as rows, with the reason.',
  raw_pages: 'Positions of the raw pages, from which tables can be rebuilt.',
  requests: 'Requests sent to upstream, one row per attempt.',
  runs: 'Sync runs with their status and cost.',
  shapes: 'Forms of the responses of upstream that the specification leaves open.',
  verifications: 'Numbers computed from the stored rows, beside the numbers that upstream reported.',
  vocabulary: 'Values and fields that upstream has sent so far, to notice new and vanished ones.',
};

/** Comments on columns that mean the same in every table of schema `sync`. */
const everywhere: Readonly<Record<string, string>> = {
  resource: 'The resource of the API, as in `sightline describe` and the flag --only.',
  brand_id: 'The brand; null if the row is about the workspace.',
  table_name: 'The table that the row is about.',
  // Queries and the JSON of `sync` use the name, so it stays.
  slice: 'Id of the slice: resource, brand, range and other parameters.',
  range_from: 'First day of the range, UTC; null without a range.',
  range_to: 'Last day of the range, UTC; null without a range.',
  run_id: 'The run that wrote the row.',
  pass_id: 'Shared by a run and the runs that resumed it.',
  first_seen_at: 'Time of the first occurrence (UTC).',
  last_seen_at: 'Time of the last occurrence (UTC).',
};

/** Comments on columns of a single table of schema `sync`. */
const byTable: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  answers: {
    query: 'Query parameters by their declared names.',
    purpose: 'report: a synced report; probe: asked by calibration; compare: asked by `sightline compare`.',
    status: 'HTTP status.',
    body: 'The body as received; null if it was not JSON, or was too long.',
    asked_at: 'When upstream sent the response (UTC, from its Date header).',
    run_id: 'The run that asked, or the newest run at that time.',
  },
  audits: {
    day: 'The day, UTC.',
    checked_at: 'Time of the day counts (UTC).',
    agreed: 'Whether all numbers that upstream reports for the day equal those of the stored rows.',
    upstream: 'Items of the day by the day counts.',
    stored: 'Stored items of the day.',
    figures: 'Hash of the responses of both sides and of the differences; equal hashes are the same difference.',
    mark: 'Hash of the rows of both sides; the day is not compared again while it is unchanged.',
    tries: 'Runs that read the day while it differed; 0 or null if it agreed.',
    retry_at: 'When the day is read again (UTC); null if it agreed.',
  },
  calibration: {
    name: 'The point that the specification leaves open.',
    value: 'The value that the read server uses, unless the configuration overrides it.',
    source: "learned: upstream's numbers determine it; default: they do not, see the note.",
    compared: 'Numbers of upstream that could be compared with the stored rows.',
    agreed: 'Compared numbers that are equal when computed with the value.',
    note: 'The reason for the value.',
    decided_at: 'Time of the calibration that found the value (UTC).',
    candidates: 'The values that were compared, each with the number of agreeing rows.',
    confidence:
      'Lower end of the 95 % Wilson interval of the share of separating facts that the value explains; null if it is not determined.',
    contradicted: 'Whether upstream reports numbers that no candidate explains.',
  },
  checkpoints: {
    page: 'Number of the page in its slice, counted from 1.',
    next_cursor: 'Cursor of the next page; null for the last.',
    seen: 'Keys of the rows of the page.',
    unidentified: 'Items of the page without a key.',
    read_at: 'When upstream sent the page (UTC, from its Date header).',
  },
  comparisons: {
    compared_at: 'Time of the comparison (UTC); equal for all its questions.',
    run_id: 'The run that asked.',
    query: 'Query parameters by their declared names.',
    verdict: 'equal, differs, or skipped if the data changed meanwhile.',
    fields: 'Paths of the differing fields, at most 20.',
    convention:
      'The points of the calibration, with values, with which both responses would be equal; null if there are none.',
    detail: 'The first difference.',
  },
  coverage: {
    closed_at: 'When the last page was read (UTC, from the Date header).',
    rows: 'Rows of the slice.',
    state:
      'State of the source at the time of the read, if it decides when the slice is due again; `missing` if upstream does not have the list (404).',
  },
  drift: {
    path: 'The field, parameter or endpoint; names of nested fields are joined with dots.',
    kind: 'unknown_field, vanished_field, changed_type, new_value, implausible_value, new_parameter or new_endpoint.',
    detail: 'Expected and received, or the new value.',
    count: 'Number of items.',
    run_id: 'The last run in which it occurred.',
    example: 'One item or value.',
  },
  echoed_days: {
    echoed_at: 'When upstream sent the day (UTC).',
    day: 'The last day of the response to a request without `to`.',
    zone: 'The time zone that follows from this day and the earlier ones.',
  },
  endpoints: {
    path: 'Path below the base URL, with parameters in braces.',
    resource: 'Name of the declared resource; null if there is none.',
    state:
      'available (its parameters have known values), unsupported, declared (a declaration has taken it over) or vanished.',
    reason: 'Why it is unsupported; null otherwise.',
    declaration: 'The inferred declaration; null if there is none.',
    found_at: 'When the document first listed it (UTC).',
    changed_at: 'When its state or declaration last changed (UTC).',
  },
  unconfirmed_deletions: {
    rows_before: 'Stored rows of the list.',
    rows_lost: 'Stored rows that upstream no longer lists.',
    missing_since: 'When upstream sent the list without them (UTC).',
  },
  listings: {
    table_name: 'Name of the table, with the values that select one of several lists of the table.',
    keys: 'Keys of the rows, in the order of upstream; a key of several columns is a JSON array.',
  },
  marks: {
    kind: 'domain, or the kind of what is done or hidden.',
    id: 'Domain, or the id of what is done or hidden.',
    value: 'Owner of a domain; otherwise done or hidden.',
    is_setting: 'Whether the mark comes from the setting domains.',
  },
  meta: { name: 'Name of the property.', value: 'Value of the property.' },
  quarantine: {
    id: 'Hash of the item and of the reason; repeated occurrences share a row.',
    reason: 'The violated rule.',
    item: 'The item as received.',
  },
  raw_pages: {
    file: 'The file, relative to the folder of raw pages.',
    position: 'First byte of the page in the file.',
    page: 'Number of the page in its slice, counted from 1.',
    received_at: 'When upstream sent the page (UTC, from its Date header).',
    bytes: 'Compressed bytes in the file.',
    sha256: 'Hash of the page before compression, in hex.',
  },
  requests: {
    run_id: 'The run that sent the request.',
    sent_at: 'When it was sent (UTC).',
    path: 'Path below the base URL.',
    query: 'Query parameters.',
    attempt: 'Number of the attempt, counted from 1.',
    status: 'HTTP status; null without a response.',
    waited_ms: 'Milliseconds of waiting for the budget.',
    took_ms: 'Milliseconds from sending to the end of the response.',
    bytes: 'Bytes of the response body.',
    rows: 'Items in the response.',
    inserted: 'Inserted rows.',
    updated: 'Updated rows.',
    deleted: 'Deleted rows.',
    error: 'The error; null without one.',
    data_version: 'Version of the data after the page.',
  },
  runs: {
    run_id: 'ID of the run.',
    started_at: 'Start (UTC, by the clock of this machine).',
    kind: 'sync, plan (lists and day counts that a plan needs), verify, compare, replay or import.',
    trigger: '`command`, `program`, or `job` and the name of the job; null if it is unknown.',
    ended_at: 'End; null while it runs, and until the next run if its process was killed.',
    status: 'running (also if its process was killed), complete, partial, interrupted or failed.',
    options: 'Options; a run resumes an unfinished run with the same options.',
    requests: 'Requests sent.',
    retries: 'Requests that repeated a failed one.',
    waited_ms: 'Milliseconds that requests waited for the budget, in total.',
    quarantined: 'Items that could not be stored as rows.',
    tables: 'Rows read, inserted, updated and deleted, by table.',
    error: 'Reason why it is not complete; null if it is.',
    data_version: 'Version of the data at its end.',
    pid: 'ID of the process.',
  },
  shapes: { name: 'The form that varies.', value: 'The form that upstream uses.' },
  verifications: {
    verified_at: 'Time of the comparison (UTC).',
    run_id: 'The run whose reports were compared; null without one.',
    day: 'The day, UTC; null if the number is about a range.',
    measure: 'The number that was computed.',
    subject: 'The subject of the number, such as an engine or an entity.',
    upstream: 'The number that upstream reported.',
    stored: 'The number computed from the stored rows.',
    agrees: 'Whether both numbers are equal; null if they could not be compared.',
  },
  vocabulary: {
    path: 'The field.',
    kind: 'value: a seen label; present, optional: the field is always or sometimes present; many: too many values to watch; settled: complete.',
    value: 'A seen label; null for a property of the field.',
  },
};

/** A table of schema `sync`, or with `column` one of its columns, with its current comment. */
export interface Commented {
  readonly table: string;
  readonly column: string | null;
  readonly comment: string | null;
}

/** Returns the COMMENT statements for tables and columns of schema `sync` whose comment differs from the one here. */
export function bookkeepingComments(found: readonly Commented[]): string[] {
  return found.flatMap(({ table, column, comment }) => {
    const about = column === null ? tables[table] : (byTable[table]?.[column] ?? everywhere[column]);
    if (about === undefined || about === comment) return [];
    const subject = column === null ? `TABLE sync.${quoted(table)}` : `COLUMN sync.${quoted(table)}.${quoted(column)}`;
    return [`COMMENT ON ${subject} IS ${literal(about)}`];
  });
}
