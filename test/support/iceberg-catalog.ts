import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished, type TestContext } from 'vitest';
import { installMaven, MissingPiece, mavenPaths, requireProgram } from '../interop/prepare.ts';
import { CATALOG_FILES } from './iceberg-jars.ts';
import { NOT_TRIED } from './needs.ts';
import { freePort } from './ports.ts';

/** Folder of the server's files, which later runs use again. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/maven');
const START_MS_MAX = 60_000;
const POLL_MS = 50;
/** Options of Java for processes that live for seconds. */
const SHORT_LIVED = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx256m'];

/** Starts an Iceberg REST catalog with tables in `folder` for the duration of a test, and returns its URL, or skips the test. */
export async function catalogFor(context: TestContext, folder: string): Promise<string> {
  const files = await fetchServer();
  if ('missing' in files) return context.skip(`${NOT_TRIED}${files.missing}`);
  const port = await freePort();
  // The server's database in memory is that of one connection.
  const child = spawn('java', [...SHORT_LIVED, '-cp', files.path, 'org.apache.iceberg.rest.RESTCatalogServer'], {
    env: {
      PATH: process.env['PATH'],
      CATALOG_WAREHOUSE: folder,
      CATALOG_REST_PORT: String(port),
      CATALOG_CLIENTS: '1',
    },
    stdio: 'ignore',
  });
  onTestFinished(() => stop(child));
  const url = `http://127.0.0.1:${port}`;
  for (let waitedMs = 0; waitedMs < START_MS_MAX && child.exitCode === null; waitedMs += POLL_MS) {
    const isReady = await fetch(`${url}/v1/config`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return url;
    await delay(POLL_MS);
  }
  throw new Error(`the Iceberg catalog did not start within ${START_MS_MAX} ms`);
}

async function fetchServer(): Promise<{ readonly path: string } | { readonly missing: string }> {
  try {
    await requireProgram('java');
    await installMaven(CACHE, CATALOG_FILES, new AbortController().signal);
    return { path: mavenPaths(CACHE, CATALOG_FILES).join(delimiter) };
  } catch (thrown) {
    if (thrown instanceof MissingPiece) return { missing: `there is no Iceberg catalog: ${thrown.message}` };
    throw thrown;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** A server in front of a catalog that does not commit several tables at once. */
export interface ApartCatalog {
  readonly url: string;
  /** How many more tables the catalog commits before it fails. */
  commits: number;
}

/** Starts a catalog that commits tables one by one, for the duration of a test. */
export async function commitsApart(catalog: string): Promise<ApartCatalog> {
  const server = createServer((asked, reply) => {
    const chunks: Buffer[] = [];
    asked.on('data', (chunk: Buffer) => chunks.push(chunk));
    asked.on('end', () => {
      const body = Buffer.concat(chunks);
      const isCommit = asked.method === 'POST' && /\/tables\/[^/]+$/.test(asked.url ?? '');
      if (isCommit && apart.commits-- <= 0) return void reply.writeHead(400).end();
      pass(catalog, asked, body, reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const apart = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commits: Number.POSITIVE_INFINITY,
  };
  return apart;
}

function pass(catalog: string, asked: IncomingMessage, body: Buffer, reply: ServerResponse): void {
  const { method, headers, url = '' } = asked;
  const sent = request(
    `${catalog}${url}`,
    { method, headers: { ...headers, 'accept-encoding': 'identity' } },
    (got) => {
      const chunks: Buffer[] = [];
      got.on('data', (chunk: Buffer) => chunks.push(chunk));
      got.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const shown = url.startsWith('/v1/config')
          ? text.replace('"POST /v1/{prefix}/transactions/commit",', '')
          : text;
        reply.writeHead(got.statusCode ?? 500, { 'content-type': 'application/json' }).end(shown);
      });
    },
  );
  sent.end(body);
}
