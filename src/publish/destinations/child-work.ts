import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type ErrorCode, SightlineError, toSightlineError } from '../../base/errors.ts';
import { type Database, openDatabase, type Query, type Session } from '../../warehouse/database.ts';
import { readDataVersion } from '../../warehouse/ledger/ledger.ts';
import { readOrigin } from '../../warehouse/ledger/origin.ts';
import { literal } from '../../warehouse/schema.ts';
import { REPLICA } from '../snapshot/exported-table.ts';
import type { HomeRequest } from './home-protocol.ts';
import { workOnHome } from './home-tables.ts';
import { type Attachment, attachmentOf, NO_LAKE, NOWHERE } from './kinds.ts';
import { type ChildReply, type ChildSettings, CONFLICT, type Loaded, type LoadRequest } from './load-protocol.ts';
import { loadTables } from './load-tables.ts';

const MEMORY_MB = 512;
/** More threads take up to twice the CPU time, and a load is not urgent: the other cores are left to the server. */
const THREADS = 1;
/** Maximum length of a schema's name in PostgreSQL. Workspaces with equal truncated names share a schema; `workspace` separates their rows. */
const NAME_LENGTH_MAX = 63;

/** Sends a message to the process that requested the work. */
type Send = (reply: ChildReply) => Promise<void>;

/** Loads a replica into a destination, or works on a home, and sends the result or the failure. */
export async function workOn(request: LoadRequest | HomeRequest, send: Send): Promise<void> {
  const attachment = attachmentOf(request.target, !('dryRun' in request && request.dryRun));
  try {
    const result =
      'home' in request ? await workAtHome(request, attachment, send) : await load(request, attachment, send);
    await send({ kind: 'done', result });
  } catch (thrown) {
    const { code, message } = toFailure(thrown, attachment.secrets);
    await send({ kind: 'failed', code, message });
  }
}

// Runs work in an empty database with the extensions of the destination.
async function withDatabase<T>(
  { temporary, extensions }: ChildSettings,
  attachment: Attachment,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(':memory:', {
    memoryLimitMb: MEMORY_MB,
    threads: THREADS,
    temporaryFolder: temporary,
    extensionFolder: extensions.path,
  });
  try {
    await database.exclusive(async (session) => {
      for (const name of attachment.extensions) await loadExtension(session, name, extensions);
    });
    return await work(database);
  } finally {
    await database.close();
    await rm(temporary, { recursive: true, force: true });
  }
}

function workAtHome({ home: work, workspace, ...settings }: HomeRequest, attachment: Attachment, send: Send) {
  return withDatabase(settings, attachment, (database) =>
    database.exclusive(async (session) => {
      const attached = await attach(session, attachment);
      const { temporary } = settings;
      return workOnHome(session, attached, { workspace, work, temporary }, () => send({ kind: 'staged' }));
    }),
  );
}

function load(request: LoadRequest, attachment: Attachment, send: Send): Promise<Loaded> {
  const { replica } = request;
  return withDatabase(request, attachment, async (database) => {
    // A replica is replaced by a new file, never written to. If that happens here, the next load compares again.
    const { ino, size, mtimeMs } = statSync(replica);
    const attached = await database.exclusive(async (session) => {
      await session.run(`ATTACH ${literal(replica)} AS ${REPLICA} (READ_ONLY)`);
      await session.run(`USE ${REPLICA}`);
      return attach(session, attachment);
    });
    const dataVersion = await database.exclusive(({ query }) => readDataVersion(query));
    const { workspace, target } = request;
    const { schema } = attached;
    const divided = `${schema}_${workspace}`.slice(0, NAME_LENGTH_MAX);
    const ownSchema = target.schemaPerWorkspace === true ? divided : schema;
    const parts = [dataVersion, ino, size, mtimeMs, request.tables, ownSchema];
    const identity = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
    return await database.exclusive(async (session) => {
      const warehouse = await readWarehouseId(session.query);
      const load = { ...request, ownSchema, schemas: [schema, divided], warehouse, dataVersion, identity };
      const tables = await loadTables(session, attached, load, (done) => void send({ kind: 'progress', done }));
      return { dataVersion, tables };
    });
  });
}

async function loadExtension(
  session: Session,
  name: string,
  { path, isGiven }: LoadRequest['extensions'],
): Promise<void> {
  try {
    await session.run(`LOAD ${name}`);
    return;
  } catch (thrown) {
    if (isGiven)
      throw new SightlineError(
        'extension_missing',
        `DuckDB's extension ${name} cannot be loaded from ${path}: ${firstLine(thrown)}`,
      );
  }
  try {
    await session.run(`INSTALL ${name}`);
    await session.run(`LOAD ${name}`);
  } catch (thrown) {
    throw new SightlineError(
      'extension_missing',
      `DuckDB's extension ${name} cannot be installed: ${firstLine(thrown)}`,
    );
  }
}

// DuckDB's own message.
function textOf(thrown: unknown): string {
  const { cause = thrown } = thrown as { cause?: unknown };
  return String((cause as Error).message);
}

function firstLine(thrown: unknown): string {
  return textOf(thrown).replace(QUERY, '').split('\n')[0] ?? '';
}

// Attaches a destination. Returns that of a dry run if there is none yet.
async function attach(session: Session, attachment: Attachment): Promise<Attachment> {
  try {
    for (const statement of attachment.statements) await session.run(statement);
  } catch (thrown) {
    if (!NO_LAKE.test(firstLine(thrown))) throw thrown;
    return attach(session, NOWHERE);
  }
  const { requirement } = attachment;
  if (requirement === undefined) return attachment;
  const [row] = await session.query(requirement.sql);
  if (row?.[0] === requirement.value) return attachment;
  throw new SightlineError('destination_failed', `${requirement.problem} ${String(row?.[0])}`);
}

// The first sync of a warehouse, or the source of a restored one without syncs.
async function readWarehouseId(query: Query): Promise<string> {
  const [row] = await query('SELECT CAST(run_id AS VARCHAR) FROM sync.runs ORDER BY started_at, run_id LIMIT 1');
  return row === undefined ? readOrigin(query) : String(row[0]);
}

/** Codes of errors with a complete message. Other messages are replaced by the message of the database. */
const COMPLETE: readonly ErrorCode[] = ['destination_newer', 'destination_failed', 'extension_missing', 'disk_full'];
/** Prefix that DuckDB adds to the message of another database. */
const WRAPPED = /^(\w+ )+Error: (Failed to \w+ query ".*": )?/;
/** A query of MySQL in a message, which may have several lines. */
const QUERY = /^.*Failed to (run|[\w ]*MySQL) query ".*": /s;
/** Error messages of PostgreSQL and MySQL. A full disk there is not `disk_full` here. */
const OF_SERVER = /\b(ERROR|FATAL): |Failed to run query/;
/** Messages of DuckDB when another process reads or writes the destination. */
const CONFLICTS =
  /could not serialize|Failed to commit(?!.* Iceberg)|Conflict_409|database is locked|duplicate (key|entry|column)|Could not set lock|lock wait timeout|deadlock found|definition has changed/i;

function toFailure(thrown: unknown, secrets: readonly string[]): SightlineError {
  const { code, message } = toSightlineError(thrown);
  const told = firstLine(thrown).replace(WRAPPED, '');
  if (COMPLETE.includes(code) && !OF_SERVER.test(textOf(thrown))) return new SightlineError(code, message);
  const plain = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), told);
  const other = CONFLICTS.test(plain) ? CONFLICT : '';
  return new SightlineError('destination_failed', `${other}${plain}`);
}
