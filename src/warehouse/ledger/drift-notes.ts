import { BY_PATH, type DriftKind, type Finding, identityOf, type Knowledge } from '../../contract/drift-findings.ts';
import type { Database, Query, Session } from '../database.ts';
import { ledgerInsert, stage } from '../write/staging.ts';
import { toTimestampText } from './ledger.ts';

/** New findings of a page, and the values and fields that the page added to the vocabulary. */
export interface DriftNotes {
  readonly resource: string;
  readonly findings: readonly Finding[];
  readonly knowledge: readonly Knowledge[];
}

/** A finding of a resource with its count since the last write. */
export interface Sighting {
  readonly resource: string;
  readonly finding: Finding;
  /** Upstream's time, epoch milliseconds. */
  readonly at: number;
}

/** A row of sync.drift: one way in which upstream's responses differ from the declarations. */
export interface DriftRow {
  readonly resource: string;
  readonly table: string | null;
  readonly path: string;
  readonly kind: DriftKind;
  readonly detail: string | null;
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly example: string | null;
}

/** Reads at most `rowsMax` rows of drift, newest first. */
export async function readDrift(query: Query, rowsMax = 1000): Promise<DriftRow[]> {
  const rows = await query(
    `SELECT resource, table_name, path, kind, detail, count, epoch_ms(first_seen_at), epoch_ms(last_seen_at), example
     FROM sync.drift ORDER BY first_seen_at DESC, resource, path, detail LIMIT ${Math.trunc(rowsMax)}`,
  );
  return rows.map(([resource, table, path, kind, detail, count, firstSeenAt, lastSeenAt, example]) => ({
    resource: String(resource),
    table: table as string | null,
    path: String(path),
    kind: kind as DriftKind,
    detail: detail as string | null,
    count: Number(count),
    firstSeenAt: Number(firstSeenAt),
    lastSeenAt: Number(lastSeenAt),
    example: example as string | null,
  }));
}

/** Reads the vocabulary of earlier runs by resource, and the identities of their findings. */
export async function readDriftMemory(
  database: Database,
): Promise<{ knowledge: Map<string, Knowledge[]>; known: Set<string> }> {
  const knowledge = new Map<string, Knowledge[]>();
  const known = new Set<string>();
  await database.exclusive(async (session) => {
    for (const row of await session.all('SELECT resource, table_name, path, kind, value FROM sync.vocabulary')) {
      const resource = String(row['resource']);
      const items = knowledge.get(resource) ?? [];
      knowledge.set(resource, items);
      items.push({
        table: row['table_name'] as string | null,
        path: String(row['path']),
        kind: row['kind'] as Knowledge['kind'],
        value: row['value'] as string | null,
      });
    }
    for (const row of await session.all('SELECT resource, table_name, path, kind, detail FROM sync.drift')) {
      known.add(
        sightingIdentity(String(row['resource']), {
          table: row['table_name'] as string | null,
          path: String(row['path']),
          kind: row['kind'] as DriftKind,
          detail: row['detail'] as string | null,
        }),
      );
    }
  });
  return { knowledge, known };
}

/** Returns a text that is equal for equal findings of the same resource. Headers are the same for all resources. */
export function sightingIdentity(
  resource: string,
  finding: Pick<Finding, 'table' | 'path' | 'kind' | 'detail'>,
): string {
  return `${finding.path.startsWith(HEADER) ? '' : resource} ${identityOf(finding)}`;
}

/** Beginning of the path of a finding about a header. */
const HEADER = 'header ';

const insertDrift = ledgerInsert('drift');
const insertVocabulary = ledgerInsert('vocabulary');

/** Inserts new findings and new vocabulary. */
export function writeDrift(session: Session, runId: string, notes: DriftNotes, at: number): void {
  const { resource, findings, knowledge } = notes;
  const seenAt = toTimestampText(at);
  const seen = { first_seen_at: seenAt, last_seen_at: seenAt, run_id: runId };
  session.append(
    insertDrift,
    stage(findings.map(({ table, ...rest }) => ({ resource, table_name: table, ...rest, ...seen }))),
  );
  session.append(
    insertVocabulary,
    stage(knowledge.map(({ table, ...rest }) => ({ resource, table_name: table, ...rest, first_seen_at: seenAt }))),
  );
}

const countAgain = `UPDATE sync.drift SET count = count + $6, last_seen_at = greatest(last_seen_at, CAST($7 AS TIMESTAMP)),
    run_id = CAST($8 AS UUID)
  WHERE (resource = $1 OR starts_with(path, '${HEADER}')) AND table_name IS NOT DISTINCT FROM $2 AND path = $3 AND kind = $4
    AND (kind IN (${BY_PATH.map((kind) => `'${kind}'`).join(', ')}) OR detail IS NOT DISTINCT FROM $5)`;

/** Adds the counts of findings that are already stored. */
export async function countDrift(session: Session, runId: string, sightings: Iterable<Sighting>): Promise<void> {
  for (const { resource, finding, at } of sightings) {
    const { table, path, kind, detail, count } = finding;
    await session.run(countAgain, [resource, table, path, kind, detail, count, toTimestampText(at), runId]);
  }
}
