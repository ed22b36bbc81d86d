import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { Refusal } from '../../http/refusal.ts';

/** Age after which the keys are fetched again. */
const FRESH_MS = 600_000;
/** Age up to which the keys are used if they cannot be fetched again. */
const USABLE_MS = 3_600_000;
/** Minimum interval between fetches, however many tokens name unknown keys. */
const INTERVAL_MS = 10_000;

/** Options of the keys of an issuer. */
export interface IssuerKeysOptions {
  /** Fetches the current key set. */
  readonly fetchKeySet: () => Promise<JSONWebKeySet>;
  /** Monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  /** Called with the reason when a fetch fails after none or a successful one, and with null when one succeeds again. */
  readonly onState: (problem: unknown) => void;
}

interface Known {
  readonly find: JWTVerifyGetKey;
  readonly fetchedAtMs: number;
}

/**
 * Creates a function that returns the key of a token. It keeps the key set for 10 minutes, or up to an hour if the issuer cannot be
 * reached. A token that names an unknown key causes a fetch, at most one in 10 seconds; concurrent tokens share it.
 *
 * The function throws `issuer_unreachable` if the keys are not known, and an error of `jose` if the issuer has no such key.
 */
export function createIssuerKeys({ fetchKeySet, monotonic, onState }: IssuerKeysOptions): JWTVerifyGetKey {
  let known: Known | null = null;
  let problem: unknown = null;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | null = null;

  const fetchNow = async (): Promise<void> => {
    triedAtMs = monotonic();
    try {
      known = { find: createLocalJWKSet(await fetchKeySet()), fetchedAtMs: monotonic() };
      if (problem !== null) onState(null);
      problem = null;
    } catch (thrown) {
      if (problem === null) onState(thrown);
      problem = thrown;
    }
  };
  // Returns at once if the last fetch was less than the interval ago.
  const refresh = async (): Promise<void> => {
    if (pending === null && monotonic() - triedAtMs < INTERVAL_MS) return;
    pending ??= fetchNow().finally(() => {
      pending = null;
    });
    await pending;
  };
  const ageMs = (): number => (known === null ? Number.POSITIVE_INFINITY : monotonic() - known.fetchedAtMs);
  const unreachable = (): Refusal => {
    const seconds = Math.max(1, Math.ceil((triedAtMs + INTERVAL_MS - monotonic()) / 1_000));
    const message = 'The access token cannot be checked now, because the keys of its issuer cannot be fetched.';
    return new Refusal('issuer_unreachable', message, { 'Retry-After': String(seconds) });
  };

  return async (header, token) => {
    if (ageMs() > FRESH_MS) await refresh();
    const first = known;
    if (first === null || ageMs() > USABLE_MS) throw unreachable();
    try {
      return await first.find(header, token);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      await refresh();
      const second: Known | null = known;
      if (second !== null && second !== first) return second.find(header, token);
      // The issuer may have a newer key that could not be fetched.
      throw problem === null ? thrown : unreachable();
    }
  };
}
