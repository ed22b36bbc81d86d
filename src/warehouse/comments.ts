import { literal, quoted } from './schema.ts';

/** Comments on columns that mean the same in every table of schema `sync`. */
const everywhere: Readonly<Record<string, string>> = {
  resource: 'The resource of the API, as `sightline describe` and the flag --only name it.',
  brand_id: 'The brand; null for what belongs to the workspace.',
  table_name: 'The table that the row is about.',
  chain: 'The chain of pages: resource, brand, range and what else tells it from others.',
  range_from: 'First day of the range, UTC; null where there is none.',
  range_to: 'Last day of the range, UTC; null where there is none.',
  run_id: 'The run.',
  pass_id: 'A run and those that went on with its work share it.',
  first_seen_at: 'When it was met first (UTC).',
  last_seen_at: 'When it was met last (UTC).',
};

/** Comments on columns of a single table of schema `sync`. */
const byTable: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  checkpoints: {
    page: 'Place of the page in its chain, counted from 1.',
    next_cursor: 'Cursor of the page that follows; null for the last.',
    seen: 'Keys of the rows that the page had.',
    unidentified: 'Items of the page without a key.',
    read_at: 'When upstream sent the page (UTC, from its Date header).',
  },
  coverage: {
    closed_at: 'When the last page was read (UTC, from the Date header).',
    rows: 'Rows that the chain had.',
  },
  listings: { keys: 'Keys of the rows, in upstream’s order.' },
  meta: { name: 'What is kept.', value: 'Its value.' },
  quarantine: {
    id: 'Hash of the item and of the reason, so that the same trouble is one row.',
    reason: 'What was wrong with the item.',
    item: 'The item as upstream sent it.',
  },
  raw_pages: { received_at: 'When upstream sent the answer (UTC, from its Date header).' },
  requests: {
    sent_at: 'When it was sent (UTC).',
    path: 'Path below the base URL.',
    query: 'Query parameters.',
    attempt: 'Number of the attempt, counted from 1.',
    status: 'HTTP status; null where no answer came.',
    waited_ms: 'Milliseconds that it waited for the budget.',
    took_ms: 'Milliseconds from sending to the whole answer.',
    bytes: 'Bytes of the answer’s body.',
    rows: 'Items in the answer.',
    inserted: 'Rows that were new.',
    updated: 'Rows that had changed.',
    deleted: 'Rows that were gone.',
    error: 'What went wrong; null where nothing did.',
    data_version: 'Version of the data that the page made.',
  },
  runs: {
    started_at: 'When it began (UTC, by our clock).',
    ended_at: 'When it ended; null while it runs or where it was killed.',
    status: 'running, complete, partial, interrupted or failed.',
    options: 'What it was asked to do; runs with the same options go on with one another.',
    requests: 'Requests sent.',
    retries: 'Those of them that repeated another.',
    waited_ms: 'Milliseconds that requests waited for the budget, added up.',
    quarantined: 'Items that could not be taken as rows.',
    tables: 'Rows read, inserted, updated and deleted, by table.',
    error: 'Why it did not complete; null where it did.',
    data_version: 'Version of the data at its end.',
    pid: 'Process that ran it.',
  },
  shapes: {
    name: 'What about the answer varies.',
    value: 'How upstream does it.',
  },
  verifications: {
    verified_at: 'When it was compared (UTC).',
    run_id: 'The run whose reports were compared; null where none belongs to it.',
    agrees: 'Whether both numbers are the same; null where upstream’s could not be compared.',
  },
  vocabulary: { path: 'The field.', value: 'A label that was seen; null for what is known of the field itself.' },
};

/** Returns the COMMENT statements for `columns` of schema `sync`; columns without a text are skipped. */
export function bookkeepingComments(columns: readonly { readonly table: string; readonly column: string }[]): string[] {
  return columns.flatMap(({ table, column }) => {
    const about = byTable[table]?.[column] ?? everywhere[column];
    if (about === undefined) return [];
    return [`COMMENT ON COLUMN sync.${quoted(table)}.${quoted(column)} IS ${literal(about)}`];
  });
}
