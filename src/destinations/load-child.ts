// Loads one replica into one destination in a process of its own, which has no API key and no environment, and which can be killed
// at any time: the destination then has the data of the load before. Its parent is run-load.ts.
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { type ErrorCode, SightlineError, toSightlineError } from '../base/errors.ts';
import { REPLICA } from '../snapshot/exported-table.ts';
import { openDatabase, type Session } from '../warehouse/database.ts';
import { literal } from '../warehouse/schema.ts';
import { type Attachment, attachmentOf } from './kinds.ts';
import type { LoadReply, LoadRequest } from './load-protocol.ts';
import { loadTables } from './load-tables.ts';

const MEMORY_MB = 512;

process.once('message', (request: LoadRequest) => {
  // A process without a parent ends, and changes nothing.
  const end = (): boolean => process.kill(process.pid, 'SIGKILL');
  process.on('disconnect', end);
  void answer(request).then(() => {
    process.off('disconnect', end);
    process.disconnect();
  });
});
// Ctrl-C in a terminal reaches this process too; the parent handles it.
process.on('SIGINT', () => undefined);

function send(reply: LoadReply): Promise<void> {
  return new Promise((resolve) => process.send?.(reply, () => resolve()));
}

async function answer(request: LoadRequest): Promise<void> {
  const attachment = attachmentOf(request.target);
  try {
    await send({ kind: 'done', tables: await load(request, attachment) });
  } catch (thrown) {
    const { code, message } = toFailure(thrown, attachment.secrets);
    await send({ kind: 'failed', code, message });
  }
}

async function load(request: LoadRequest, attachment: Attachment) {
  const { replica, temporary, extensions } = request;
  const database = await openDatabase(':memory:', {
    memoryLimitMb: MEMORY_MB,
    temporaryFolder: temporary,
    extensionFolder: extensions.path,
  });
  try {
    return await database.exclusive(async (session) => {
      for (const name of attachment.extensions) await loadExtension(session, name, extensions);
      // A replica is replaced by a new file, never written to. If that happens here, the next load compares again.
      const { ino, size, mtimeMs } = statSync(replica);
      await session.run(`ATTACH ${literal(replica)} AS ${REPLICA} (READ_ONLY)`);
      for (const statement of attachment.statements) await session.run(statement);
      const dataVersion = await readVersion(session);
      const identity = identityOf([dataVersion, ino, size, mtimeMs, request.tables]);
      return loadTables(session, attachment, { ...request, dataVersion, identity }, (done) => {
        void send({ kind: 'progress', done });
      });
    });
  } finally {
    await database.close();
  }
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

function firstLine(thrown: unknown): string {
  return String((thrown as Error).message).split('\n')[0] ?? '';
}

async function readVersion(session: Session): Promise<number> {
  const [row] = await session.query(
    `SELECT max(data_version) FROM (SELECT data_version FROM ${REPLICA}.sync.requests UNION ALL SELECT data_version FROM ${REPLICA}.sync.runs)`,
  );
  return Number(row?.[0] ?? 0);
}

function identityOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Codes of errors that say all that is to say. */
const COMPLETE: readonly ErrorCode[] = ['destination_newer', 'destination_failed', 'extension_missing', 'disk_full'];
/** Messages about a second process that has committed meanwhile. */
const CONFLICT = /could not serialize|Failed to commit|database is locked|duplicate key/i;

function toFailure(thrown: unknown, secrets: readonly string[]): SightlineError {
  const { code, message } = toSightlineError(thrown);
  if (COMPLETE.includes(code)) return new SightlineError(code, message);
  const { cause } = thrown as { cause?: unknown };
  const plain = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), firstLine(cause ?? thrown));
  const other = CONFLICT.test(plain) ? 'another process wrote to the destination at the same time: ' : '';
  return new SightlineError('destination_failed', `${other}${plain}`);
}
