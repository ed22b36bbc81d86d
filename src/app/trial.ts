import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { type ErrorCode, SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { askOnce } from './ask-once.ts';

/** What upstream said when it was asked for the first time. */
export interface Trial {
  /** The address that answered. */
  readonly baseUrl: string;
  /** Names of the brands that the key reads. */
  readonly brands: readonly string[];
  /** Requests a minute that it allows. */
  readonly rateLimit: number;
}

/** Answers that say that something else is at the address. */
const ELSEWHERE: readonly ErrorCode[] = ['not_found', 'bad_answer', 'refused'];

/** Ends of addresses that are known beside the root of the API, and lead back to it. */
const BELOW_ROOT = /\/(openapi\.json|mcp)$/;

/**
 * The addresses that somebody may have meant who gives this one as root of the API, likeliest first: with https where no
 * scheme stands there (http on this machine), without a slash at the end, and with a version where none is.
 */
export function meantBy(given: string): string[] {
  const text = given.trim();
  if (/^([a-z][a-z0-9+.-]*:)?\/*$/i.test(text)) return [text];
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])([:/]|$)/i.test(text);
  const root = (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${isLocal ? 'http' : 'https'}://${text}`)
    .replace(/\/+$/, '')
    .replace(BELOW_ROOT, '');
  // What has a query is not touched: the settings say what is wrong with it.
  const isWhole = /\/v\d+$/i.test(root) || /[?#]/.test(root);
  return isWhole ? [root] : [`${root}/v1`, root];
}

/**
 * Asks upstream for the brands of the workspace, through the budget and once: at each of the addresses until one of them is
 * the API's. `configure` gives the settings for an address. Throws the error of the address that came nearest, and the
 * signal's reason when that is aborted.
 */
export async function tryUpstream(
  addresses: readonly string[],
  configure: (baseUrl: string) => WorkspaceConfig,
  clock: Clock,
  signal: AbortSignal,
): Promise<Trial> {
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

async function tryAddress(config: WorkspaceConfig, clock: Clock, signal: AbortSignal): Promise<Trial> {
  const { baseUrl, items, rateLimit } = await askOnce(config, clock, signal);
  const brands = items.map((item) => (isRecord(item) && typeof item['name'] === 'string' ? item['name'] : '?'));
  return { baseUrl, brands, rateLimit };
}
