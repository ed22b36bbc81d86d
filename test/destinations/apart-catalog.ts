import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

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
