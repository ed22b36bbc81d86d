import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installMaven, MissingPiece, mavenPaths, requireProgram } from '../interop/prepare.ts';
import { CATALOG_FILES } from './iceberg-jars.ts';
import { freePort } from './ports.ts';

/** Folder of the server's files, which later runs use again. */
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/maven');
const START_MS_MAX = 60_000;
const POLL_MS = 50;
/** Options of Java for processes that live for seconds. */
const SHORT_LIVED = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx256m'];

/** A running catalog. */
export interface Catalog {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts an Iceberg REST catalog with tables in `folder`, or returns the reason why there is none on this machine. */
export async function startCatalog(folder: string): Promise<Catalog | string> {
  const files = await fetchServer();
  if ('missing' in files) return files.missing;
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
  const url = `http://127.0.0.1:${port}`;
  for (let waitedMs = 0; waitedMs < START_MS_MAX && child.exitCode === null; waitedMs += POLL_MS) {
    const isReady = await fetch(`${url}/v1/config`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url, close: () => stop(child) };
    await delay(POLL_MS);
  }
  await stop(child);
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
