import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { type ErrorCode, SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { askOnce } from './probe.ts';

/** Result of the first request to upstream. */
export interface ConnectionTest {
  /** The base URL that responded. */
  readonly baseUrl: string;
  /** Names of the brands that the API key can read. */
  readonly brands: readonly string[];
  /** Requests per minute that upstream allows. */
  readonly rateLimit: number;
}

/** Errors that mean that another service is at the address. */
const ELSEWHERE: readonly ErrorCode[] = ['not_found', 'bad_answer', 'refused'];

/** Known paths below the API's root that users paste by mistake. */
const BELOW_ROOT = /\/(openapi\.json|mcp)$/;

/**
 * Returns the base URLs that a user may have meant, likeliest first. Adds a missing scheme (https, or http for this machine) and
 * a missing version, and removes trailing slashes.
 *
 * @example
 * meantBy('api.example.com') // ['https://api.example.com/v1', 'https://api.example.com']
 */
export function meantBy(given: string): string[] {
  const text = given.trim();
  if (/^([a-z][a-z0-9+.-]*:)?\/*$/i.test(text)) return [text];
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])([:/]|$)/i.test(text);
  const root = (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${isLocal ? 'http' : 'https'}://${text}`)
    .replace(/\/+$/, '')
    .replace(BELOW_ROOT, '');
  // A URL with a query or fragment is returned unchanged: the settings reject it with a clear message.
  const isFinal = /\/v\d+$/i.test(root) || /[?#]/.test(root);
  return isFinal ? [root] : [`${root}/v1`, root];
}

/**
 * Requests the brands of the workspace through the budget, without retries, from each address in turn until one of them is the
 * API. `configure` returns the settings for an address.
 *
 * @throws the error of the first address if none is the API, and the signal's reason when it is aborted.
 */
export async function testConnection(
  addresses: readonly string[],
  configure: (baseUrl: string) => WorkspaceConfig,
  clock: Clock,
  signal: AbortSignal,
): Promise<ConnectionTest> {
  let first: unknown = null;
  for (const address of addresses) {
    try {
      return await tryAddress(configure(address), clock, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof SightlineError) || !ELSEWHERE.includes(thrown.code)) throw thrown;
      first ??= thrown;
    }
  }
  throw first;
}

async function tryAddress(config: WorkspaceConfig, clock: Clock, signal: AbortSignal): Promise<ConnectionTest> {
  const { baseUrl, items, rateLimit } = await askOnce(config, clock, signal);
  const brands = items.map((item) => (isRecord(item) && typeof item['name'] === 'string' ? item['name'] : '?'));
  return { baseUrl, brands, rateLimit };
}
