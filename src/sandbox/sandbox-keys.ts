import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from './fixture.ts';

/** State of a key; `unplanned` is the key of a workspace without an active plan. */
export type KeyState = 'active' | 'disabled' | 'expired' | 'unplanned';

/** Returns the key of a request from either of the two headers, or undefined. */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined || headers.authorization !== undefined) return bearer;
  const alone = headers['x-api-key'];
  return typeof alone === 'string' && alone !== '' ? alone : undefined;
}

/**
 * Returns the request's key if it is active.
 *
 * @throws Refusal `unauthorized` or `plan_required`
 */
export function authenticate(headers: IncomingHttpHeaders, keys: ReadonlyMap<string, KeyState>): string {
  const key = keyOf(headers);
  const refuse = (message: string): Refusal => new Refusal(401, 'unauthorized', message);
  if (key === undefined) throw refuse('The request carries no API key: send Authorization: Bearer <API_KEY>.');
  const state = keys.get(key);
  if (state === undefined) throw refuse('The API key is invalid.');
  if (state === 'unplanned') throw new Refusal(403, 'plan_required', 'The workspace has no active plan.');
  if (state !== 'active') throw refuse(`The API key is ${state}.`);
  return key;
}
