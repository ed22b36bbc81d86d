import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { onTestFinished, type TestContext } from 'vitest';
import type { QueueAddress } from '../../src/base/config/runner-settings.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { postgresFor } from '../support/test-postgres.ts';

/** Creates a queue, or skips the test. */
export async function newQueue(context: TestContext): Promise<QueueAddress> {
  return queueIn(await postgresFor(context));
}

/** Returns the address of a queue in a database. */
export function queueIn(database: Pick<TestPostgres, 'url'>): QueueAddress {
  return { kind: 'postgres', url: database.url(), urlVariable: 'QUEUE_DATABASE_URL' };
}

/** Runs statements in a queue's own database. */
export async function runSql({ url }: QueueAddress, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

/** A network path to a queue that a test can cut. */
export interface Way {
  readonly address: QueueAddress;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  mend(): void;
}

/** Opens a network path to a queue for the duration of a test. */
export async function openWay(address: QueueAddress): Promise<Way> {
  const target = new URL(address.url);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = createConnection(Number(target.port), target.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    cut();
    server.close();
  });
  const url = Object.assign(new URL(address.url), { port: (server.address() as AddressInfo).port }).href;
  return {
    address: { ...address, url },
    cut,
    mend: () => {
      isCut = false;
    },
  };
}
