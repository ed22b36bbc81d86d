import { readFile } from 'node:fs/promises';
import type { DocumentSource } from '../base/config/config.ts';
import { createDispatcher } from '../base/dispatcher.ts';
import { SightlineError } from '../base/errors.ts';
import { BodyError } from '../contract/body.ts';
import { parseBody } from '../plausibility/page-work.ts';
import { CLIENT_LIMITS, type Client } from './client.ts';
import { UpstreamError } from './errors.ts';
import { networkError } from './network.ts';

/** Parts of `fetchDocument`. */
export interface DocumentRequest {
  readonly client: Client;
  readonly source: DocumentSource;
  readonly signal: AbortSignal;
  readonly onAttempt?: Parameters<Client['get']>[2]['onAttempt'];
}

/**
 * Reads an OpenAPI document and converts it with `read`. Only a path below the base URL is requested with the key and within the budget.
 * @throws UpstreamError if upstream or the other server does not send it, and `config_invalid` if the file cannot be read
 */
export async function fetchDocument<T>(
  { client, source, signal, onAttempt }: DocumentRequest,
  read: (document: unknown) => T,
): Promise<T> {
  switch (source.kind) {
    case 'path': {
      const asked = { path: source.path, query: {}, route: source.path };
      return (await client.get(asked, read, { signal, ...(onAttempt === undefined ? {} : { onAttempt }) })).value;
    }
    case 'url':
      return read(await fetchUrl(source.url, source.proxy, signal));
    case 'file':
      return read(await readJsonFile(source.path));
  }
}

async function fetchUrl(url: string, proxy: URL | null, signal: AbortSignal): Promise<unknown> {
  const { headersMs, bodyMs, bodyBytesMax } = CLIENT_LIMITS;
  const { origin, pathname, search } = new URL(url);
  const limits = { headersTimeout: headersMs, bodyTimeout: bodyMs, maxResponseSize: bodyBytesMax };
  const dispatcher = createDispatcher(proxy, limits);
  const target = {
    origin,
    path: `${pathname}${search}`,
    method: 'GET',
    headers: { accept: 'application/json' },
  } as const;
  try {
    const { statusCode, body } = await dispatcher.request({ ...target, signal });
    if (statusCode === 200) return parseBody(await body.bytes()).value;
    await body.dump();
    throw new UpstreamError('bad_answer', `openapi: ${url} answers with status ${statusCode}`, { status: statusCode });
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof SightlineError || thrown instanceof BodyError) throw thrown;
    throw networkError(thrown, new URL(url), proxy);
  } finally {
    await dispatcher.destroy();
  }
}

async function readJsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (thrown) {
    const reason =
      thrown instanceof SyntaxError ? 'is not JSON' : `cannot be read (${(thrown as NodeJS.ErrnoException).code})`;
    throw new SightlineError('config_invalid', `openapi: the file ${path} ${reason}`, { cause: thrown });
  }
}
