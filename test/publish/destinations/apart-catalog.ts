import { text as textOf } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { serve } from '../../cli/helpers.ts';

/** A server in front of a catalog that does not commit several tables at once. */
export interface ApartCatalog {
  readonly url: string;
  /** How many more tables the catalog commits before it fails. */
  commits: number;
}

/** Starts a catalog that commits tables one by one, for the duration of a test. */
export async function commitsApart(catalog: string): Promise<ApartCatalog> {
  const { origin, close } = await serve(async (asked, reply) => {
    const { method = '', url = '' } = asked;
    const sent = await textOf(asked);
    const isCommit = method === 'POST' && /\/tables\/[^/]+$/.test(url);
    if (isCommit && apart.commits-- <= 0) return void reply.writeHead(400).end();
    const headers = { 'content-type': 'application/json' };
    const got = await fetch(`${catalog}${url}`, { method, headers, ...(sent === '' ? {} : { body: sent }) });
    const text = await got.text();
    const shown = url.startsWith('/v1/config') ? text.replace('"POST /v1/{prefix}/transactions/commit",', '') : text;
    reply.writeHead(got.status, headers).end(shown);
  });
  onTestFinished(close);
  const apart = { url: origin, commits: Number.POSITIVE_INFINITY };
  return apart;
}
