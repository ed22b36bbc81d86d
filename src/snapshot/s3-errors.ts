import { SightlineError } from '../base/errors.ts';
import type { StoreUse } from './object-store.ts';

/** What an error of the client carries, whichever it is. */
export interface S3Failure {
  readonly name: string;
  /** HTTP status; undefined where nothing was answered. */
  readonly status: number | undefined;
}

/** What is known of refusals, by the names that stores give them. The texts of stores are not shown: they may say anything. */
const known: Readonly<Record<string, string>> = {
  AccessDenied: 'the credentials may not do that; docs/deploy/s3-policy.json has what is needed',
  InvalidAccessKeyId: 'the store does not know the access key',
  SignatureDoesNotMatch: 'the secret key is not the one of the access key',
  ExpiredToken: 'the credentials have expired',
  TokenRefreshRequired: 'the credentials have expired',
  RequestTimeTooSkewed: 'the clock of this machine differs from that of the store',
  NoSuchBucket: 'there is no such bucket',
  PermanentRedirect: 'the bucket is in another region, or wants another endpoint: set its region',
  AuthorizationHeaderMalformed: 'the bucket is in another region: set its region',
  CredentialsProviderError:
    'no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role',
  NotImplemented: 'the store does not know what is asked for; conditional writes are needed',
  SlowDown: 'the store asked to slow down until the attempts were used up',
};

/** Name and status of an error that the client threw. */
export function failureOf(thrown: unknown): S3Failure {
  const { name, code, $metadata } = thrown as {
    name?: unknown;
    code?: unknown;
    $metadata?: { httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  const shown = typeof code === 'string' && status === undefined ? code : String(name ?? 'Error');
  return { name: /^[\w.]{1,60}$/.test(shown) ? shown : 'Error', status };
}

/** Whether there is no such object. A bucket that is not there is another matter. */
export function isAbsent(thrown: unknown): boolean {
  const { name, status } = failureOf(thrown);
  return status === 404 && name !== 'NoSuchBucket';
}

/** Whether a condition of a write did not hold. */
export function isConditionRefused(thrown: unknown): boolean {
  return failureOf(thrown).status === 412;
}

/** Whether another write of the same object was under way, so that this one may be tried again. */
export function isConflict(thrown: unknown): boolean {
  return failureOf(thrown).status === 409;
}

/** Whether the store may not know the checksum that was sent along. */
export function isChecksumRefused(thrown: unknown): boolean {
  const { name } = failureOf(thrown);
  return ['NotImplemented', 'InvalidRequest', 'InvalidArgument'].includes(name);
}

/** The error to be thrown for one of the client; `what` was tried, such as "reading s3://bucket/latest.json". */
export function toStoreError(thrown: unknown, what: string, use: StoreUse): SightlineError {
  if (thrown instanceof SightlineError) return thrown;
  const { name, status } = failureOf(thrown);
  const text = thrown instanceof Error ? thrown.message : '';
  // Never the client's own error, which carries the request with its headers, and so credentials.
  const cause = new Error(status === undefined ? name : `${name}, HTTP ${status}`);
  if (/region is missing/i.test(text)) {
    const message = `${use.setting}.region is not set, nor does the environment or the profile say it (AWS_REGION)`;
    return new SightlineError('config_invalid', message, { cause });
  }
  const why = known[name] ?? (status === undefined ? 'no answer' : `HTTP ${status}`);
  const named = status === undefined || name in known ? ` (${name})` : ` ${name}`;
  return new SightlineError(use.code, `${what} failed: ${why}${named}`, { cause });
}
