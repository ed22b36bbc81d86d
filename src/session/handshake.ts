import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Length of a secret and of a nonce. */
const RANDOM_BYTES = 32;

/** A new secret or nonce, as base64url. */
export function createNonce(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Whether a value has the format that `createNonce` returns. */
export function isNonce(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{43}$/.test(value);
}

/** The values that both sides of a connection must share before they send anything else. */
export interface Handshake {
  /** From the owner record; never sent. */
  readonly secret: string;
  /** `id` of the owner record. */
  readonly recordId: string;
  /** Device and inode of the workspace folder, as each side sees it. */
  readonly folderId: string;
  readonly clientNonce: string;
  readonly serverNonce: string;
}

/** The proof that one side knows the secret. The two sides' proofs differ, so a proof cannot be reflected. */
export function proofOf(side: 'client' | 'server', handshake: Handshake): string {
  const { secret, recordId, folderId, clientNonce, serverNonce } = handshake;
  return mac(secret, ['handshake', side, recordId, folderId, clientNonce, serverNonce]);
}

/** Compares a proof in constant time. */
export function isProof(expected: string, given: unknown): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(given.replace(/[^\w-]/g, '.')));
}

/** Digests a setting's value, so that two processes can compare it without sending it. */
export type DigestSetting = (name: string, value: string) => string;

/** Creates the digest that both sides of a connection share. */
export function createSettingDigest(secret: string): DigestSetting {
  return (name, value) => mac(secret, ['setting', name, value]);
}

function mac(secret: string, parts: readonly string[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url');
}
