import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { hideKeys } from '../../base/errors.ts';
import { number, type ValueOf } from '../../contract/operation/json-parts.ts';

/** Limits of one delivery. */
export interface DeliveryLimits {
  readonly attemptsMax: number;
  /** Maximum duration of one attempt. */
  readonly attemptMs: number;
  /** Maximum duration of all attempts and waits together. */
  readonly totalMs: number;
  /** First wait between two attempts; doubles with each attempt. */
  readonly backoffMs: number;
}

/** Limits that bound how long a command waits for its message. */
export const DELIVERY_LIMITS: DeliveryLimits = {
  attemptsMax: 4,
  attemptMs: 10_000,
  totalMs: 30_000,
  backoffMs: 1_000,
};

const SAID_CHARACTERS_MAX = 200;

/** Result of a delivery. */
export const delivery = z.object({
  isDelivered: z.boolean(),
  mayRetry: z.boolean().describe('whether a later attempt may succeed'),
  attempts: number,
  status: z.int().nullable().describe('status of the last HTTP or SMTP response; null if there was none'),
  said: z.string().describe('the result in words, without the address'),
});

/** Result of a delivery. */
export type Delivery = ValueOf<typeof delivery>;

/** The result of one attempt. */
export interface Attempt extends Omit<Delivery, 'attempts'> {
  /** Time until the next attempt that the receiver asks for. */
  readonly waitMs: number;
}

/** Makes one attempt to send a message; ends when the signal is aborted. Does not throw. */
export type Send = (timeoutMs: number, signal: AbortSignal) => Promise<Attempt>;

/** Sends a message and retries within the limits if a retry may succeed. Does not throw. */
export async function deliver(
  send: Send,
  { clock, signal, limits = DELIVERY_LIMITS }: { clock: Clock; signal: AbortSignal; limits?: DeliveryLimits },
): Promise<Delivery> {
  const startedAt = clock.monotonic();
  let last: Delivery = { isDelivered: false, mayRetry: true, attempts: 0, status: null, said: 'was not asked' };
  for (let attempt = 1; attempt <= limits.attemptsMax && !signal.aborted; attempt++) {
    const { waitMs: asked, ...result } = await send(limits.attemptMs, signal);
    last = { ...result, attempts: attempt };
    if (last.isDelivered || !last.mayRetry || attempt === limits.attemptsMax) return last;
    const bound = limits.backoffMs * 2 ** (attempt - 1);
    const waitMs = Math.max(asked, bound / 2 + (clock.random() * bound) / 2);
    const spentMs = clock.monotonic() - startedAt;
    if (spentMs + waitMs + limits.attemptMs > limits.totalMs) return last;
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
  return last;
}

/** The result of an attempt that got no response. */
export function unanswered(why: string): Attempt {
  return { isDelivered: false, mayRetry: true, status: null, said: why, waitMs: 0 };
}

/** The beginning of what a receiver said, for a message. */
export function excerpt(text: string): string {
  return hideKeys(text)
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, SAID_CHARACTERS_MAX);
}
