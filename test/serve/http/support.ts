import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startSandboxWorkspace, type WorkspaceSandbox } from '../../../schemas/fixtures/start.ts';
import { type Conventions, defaultConventions } from '../../../src/analytics/calibration/conventions.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { loadConfig } from '../../../src/base/config/config.ts';
import { syncWorkspace } from '../../../src/operations/sync.ts';
import { createService } from '../../../src/query/create-service.ts';
import type { Service } from '../../../src/query/service.ts';
import { createKey, openKeyring } from '../../../src/serve/auth/keys.ts';
import type { SiteOAuth } from '../../../src/serve/auth/oauth/oauth.ts';
import type { HttpLimits } from '../../../src/serve/http/http-limits.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../../src/serve/http/http-server.ts';
import type { SiteParts } from '../../../src/serve/http/site.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { layoutOf } from '../../../src/snapshot/layout.ts';
import { REPLICA_OPTIONS } from '../../../src/warehouse/replica.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { NO_PROBES } from '../../support/no-probes.ts';
import { OPEN_OPTIONS } from '../fleet-server.ts';

/** A workspace synced and published once for all tests of a file. */
export interface Published {
  readonly sandbox: WorkspaceSandbox;
  /** Path of the replica. */
  readonly copy: string;
  readonly brandId: string;
}

/**
 * Publishes a small workspace with this number of brands before the tests of a file; returns a function that returns it. The responses depend
 * on the day: tests of what they contain need a clock of their own.
 */
export function publishBefore(brands = 1, clock: Clock = systemClock): () => Published {
  let published: Published | null = null;
  let clean = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const sandbox = await startSandboxWorkspace({ brands, prompts: 6, days: 5, rateLimit: 10_000, clock: clock.now });
    const folder = await mkdtemp(join(tmpdir(), 'sightline-serve-'));
    clean = async () => {
      await sandbox.close();
      await rm(folder, { recursive: true, force: true });
    };
    const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
    const config = loadConfig({ flags: {}, environment, folder });
    const { signal } = new AbortController();
    const context = { config, clock, signal, command: 'sync' };
    const summary = await syncWorkspace(context, { only: null, range: null, brands: null }, () => undefined);
    if (summary.status !== 'complete') throw summary.error ?? new Error(`the sync ended ${summary.status}`);
    const copy = layoutOf(config.folder).analytics;
    published = { sandbox, copy, brandId: sandbox.world.brands[0]?.id ?? '' };
  });
  afterAll(() => clean());
  return () => {
    if (published === null) throw new Error('nothing was published');
    return published;
  };
}

/** A server for one test. */
export interface TestServer extends RunningServer {
  readonly port: number;
  /** Folder of its keys. */
  readonly folder: string;
  readonly key: string;
  readonly keyId: string;
  readonly service: Service;
  /** Sends a request below /v1, with the key unless other headers are given. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** All log lines so far, parsed. */
  log(): Promise<Record<string, unknown>[]>;
}

/** Options of a test server. */
export interface TestServerOptions extends Partial<Omit<ServerOptions, 'limits'>> {
  readonly limits?: Partial<HttpLimits>;
  readonly clock?: Clock;
  /** Folder of the keys, to start a server again; default: a new one. */
  readonly folder?: string;
  /** The calibration; default: the default conventions. */
  readonly conventions?: () => Conventions;
  /** Folder of published snapshots. */
  readonly snapshots?: string;
  readonly oauth?: SiteOAuth;
  /** Dependencies of the pages; default: no pages. */
  readonly pages?: Pick<SiteParts, 'status' | 'tables' | 'app'>;
  /** Wraps the query layer, for example to delay responses. */
  readonly around?: (service: Service) => Service;
}

/** Starts a server over the replica, or without data, with a key; closed after the test. */
export async function openServer(copy: string, options: TestServerOptions = {}): Promise<TestServer> {
  const { clock = systemClock, around = (service: Service) => service, snapshots, oauth, pages, ...others } = options;
  const { folder = await temporaryFolder(), conventions = () => defaultConventions, ...given } = others;
  const { key, text } = await createKey(folder, 'test', null, clock.now());
  const service = around(
    createService({
      catalogue,
      path: copy,
      clock,
      cursorSecret: randomBytes(32),
      replica: REPLICA_OPTIONS,
      readConventions: async () => conventions(),
    }),
  );
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const served = { ...(snapshots === undefined ? {} : { snapshots }), ...(oauth === undefined ? {} : { oauth }) };
  const parts = { service, keyring: openKeyring(folder), clock, log: write, ...served, ...pages };
  const server = await startServer(parts, {
    ...OPEN_OPTIONS,
    rateLimit: 1_000_000,
    ...given,
  });
  onTestFinished(async () => {
    await server.close();
    await service.close();
  });
  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.baseUrl}${path}`, { ...init, headers: { 'x-api-key': text, ...init.headers } });
  const log = async (): Promise<Record<string, unknown>[]> => {
    // A log line is written in the event loop turn after the end of its request.
    await new Promise((resolve) => setTimeout(resolve, 20));
    return lines
      .join('')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const port = Number(new URL(server.baseUrl).port);
  return { ...server, port, folder, key: text, keyId: key.id, service, get, log };
}

/** Sends raw bytes and returns everything received until the server closes the connection. */
export function sendRaw(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
    for (const piece of pieces) socket.write(piece);
  });
}

/** Returns the text of a request that asks to close the connection. */
export function requestText(method: string, target: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { Host: '127.0.0.1', Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Parses a response: status, headers with lower-case names, body. */
export function readRaw(text: string): { status: number; headers: Record<string, string>; body: string } {
  const at = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, at).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(first.split(' ')[1]), headers, body: text.slice(at + 4) };
}
