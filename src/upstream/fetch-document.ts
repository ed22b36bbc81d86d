import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import type { DocumentSource } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
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
      return read(await fetchUrl(source.url, signal));
    case 'file':
      return read(await readJsonFile(source.path));
  }
}

async function fetchUrl(url: string, signal: AbortSignal): Promise<unknown> {
  const { headersMs, bodyMs, bodyBytesMax } = CLIENT_LIMITS;
  const options = { headersTimeout: headersMs, bodyTimeout: bodyMs, headers: { accept: 'application/json' }, signal };
  const { statusCode, body } = await request(url, options).catch((thrown: unknown) => {
    signal.throwIfAborted();
    throw networkError(thrown, new URL(url));
  });
  if (statusCode !== 200) {
    await body.dump();
    throw new UpstreamError('bad_answer', `openapi: ${url} answers with status ${statusCode}`, { status: statusCode });
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > bodyBytesMax)
      throw new UpstreamError('bad_answer', `openapi: ${url} has more than ${bodyBytesMax} bytes`, { status: 200 });
    chunks.push(chunk as Buffer);
  }
  return parseBody(Buffer.concat(chunks)).value;
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
