import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { networkError } from '../../src/upstream/network.ts';

// Key for tests only; the certificate is valid until 2126.
const read = (name: string): string => readFileSync(new URL(`fixtures/${name}.pem`, import.meta.url), 'utf8');

async function errorFrom(server: ReturnType<typeof createHttpServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const base = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  const thrown = await request(base).catch((error: unknown) => error);
  return { base, error: networkError(thrown, base) };
}

test('a self-signed certificate is reported with the variable for trusting it', async () => {
  const server = createServer({ key: read('self-signed.key'), cert: read('self-signed') }, () => undefined);
  const { base, error } = await errorFrom(server);
  expect(error).toMatchObject({ code: 'unreachable', retryable: false });
  expect(error.message).toBe(
    `cannot trust ${base.origin}: its certificate is self-signed; if you trust it, set NODE_EXTRA_CA_CERTS to a PEM file with the certificate (DEPTH_ZERO_SELF_SIGNED_CERT)`,
  );
});

test('a server without TLS is reported with the setting to correct', async () => {
  const { error } = await errorFrom(createHttpServer(() => undefined));
  expect(error).toMatchObject({ code: 'unreachable', retryable: false });
  expect(error.message).toContain('it does not speak TLS on this port; correct the port in SIGHTLINE_BASE_URL');
});

test.each([
  ['SELF_SIGNED_CERT_IN_CHAIN', 'NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'NODE_EXTRA_CA_CERTS'],
  ['CERT_HAS_EXPIRED', 'has expired'],
  ['CERT_NOT_YET_VALID', 'is not valid yet'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'for another host name'],
])('%s is not retried and its message contains the next step', (code, words) => {
  const thrown = Object.assign(new Error('prose of a library'), { code });
  const { message, retryable } = networkError(thrown, new URL('https://api.example/v1'));
  expect(retryable).toBe(false);
  expect(message).toMatch(/^cannot trust https:\/\/api\.example: its certificate /);
  expect(message).toContain(words);
  expect(message).not.toContain('prose');
});
