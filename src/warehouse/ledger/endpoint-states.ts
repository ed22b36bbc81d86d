import type { Database } from '../database.ts';
import { stage, staged } from '../write/staging.ts';
import { toTimestampText } from './ledger.ts';

/** An endpoint in upstream's document that no declaration covered when it was found. */
export interface EndpointRow {
  readonly path: string;
  /** Name of the resource that has taken it over; null if there is none. */
  readonly resource: string | null;
  readonly state: string;
  readonly reason: string | null;
}

const text = (name: string) => ({ name, kind: 'text' }) as const;
const columns = ['path', 'resource', 'state', 'reason'].map(text);
const replaceEndpoints = `INSERT INTO sync.endpoints
  SELECT s.path, s.resource, s.state, s.reason, o.declaration, coalesce(o.found_at, CAST($2 AS TIMESTAMP)),
    CASE WHEN o.state = s.state AND o.reason IS NOT DISTINCT FROM s.reason AND o.resource IS NOT DISTINCT FROM s.resource
      THEN o.changed_at ELSE CAST($2 AS TIMESTAMP) END
  FROM ${staged(columns, '$1')} s LEFT JOIN earlier_endpoints o ON o.path = s.path`;

/**
 * Stores the endpoints of the document at the time `at`. A stored endpoint that the document does not list any more is kept with the
 * state `vanished`. Endpoints in `declared` are stored only if they were found before. Writes nothing if nothing has changed.
 */
export async function recordEndpoints(database: Database, listed: readonly EndpointRow[], at: number): Promise<void> {
  await database.transaction(async (session) => {
    const stored = (await session.query('SELECT path, resource, state, reason FROM sync.endpoints')).map(
      ([path, resource, state, reason]): EndpointRow => ({
        path: String(path),
        resource: resource as string | null,
        state: String(state),
        reason: reason as string | null,
      }),
    );
    const known = new Set(stored.map(({ path }) => path));
    const found = listed.filter(({ path, state }) => state !== 'declared' || known.has(path));
    const paths = new Set(found.map(({ path }) => path));
    const vanished = stored
      .filter(({ path }) => !paths.has(path))
      .map((row) => ({ ...row, state: 'vanished', reason: null }));
    const next = [...found, ...vanished];
    if (textOf(next) === textOf(stored)) return;
    await session.run('CREATE OR REPLACE TEMP TABLE earlier_endpoints AS SELECT * FROM sync.endpoints');
    await session.run('DELETE FROM sync.endpoints');
    await session.run(replaceEndpoints, [stage(next.map((row) => ({ ...row }))), toTimestampText(at)]);
    await session.run('DROP TABLE earlier_endpoints');
  });
}

function textOf(rows: readonly EndpointRow[]): string {
  const texts = rows.map(({ path, resource, state, reason }) => JSON.stringify([path, resource, state, reason]));
  return JSON.stringify(texts.sort());
}
