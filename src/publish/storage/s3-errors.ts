import { SightlineError } from '../../base/errors.ts';

/** Name and status of an error of the SDK. */
export interface S3Failure {
  readonly name: string;
  /** HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
}

/**
 * Explanations of errors by the names that stores give them. The texts of stores are not shown, because they can
 * contain anything.
 */
const known: Readonly<Record<string, string>> = {
  AccessDenied: 'the credentials lack a permission; docs/deploy/s3-policy.json lists those that are needed',
  InvalidAccessKeyId: 'the access key is unknown to the store',
  SignatureDoesNotMatch: 'the secret key does not match the access key',
  ExpiredToken: 'the credentials have expired',
  TokenRefreshRequired: 'the credentials have expired',
  RequestTimeTooSkewed: 'the clock of this machine differs from that of the store',
  NoSuchBucket: 'the bucket does not exist',
  PermanentRedirect: 'the bucket is in another region or needs another endpoint; set its region',
  AuthorizationHeaderMalformed: 'the bucket is in another region; set its region',
  CredentialsProviderError:
    'no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role',
  NotImplemented: 'the store does not support this request; conditional writes are required',
  SlowDown: 'the store was busy during all attempts',
};

/** Returns the name and status of an error that the SDK threw. */
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

/** Reports whether an object does not exist; false if the bucket does not exist. */
export function isAbsent(thrown: unknown): boolean {
  const { name, status } = failureOf(thrown);
  return status === 404 && name !== 'NoSuchBucket';
}

/** Reports whether the condition of a write was not met. */
export function isConditionRefused(thrown: unknown): boolean {
  return failureOf(thrown).status === 412;
}

/** Reports whether another write of the same object was in progress, so that this one can be retried. */
export function isConflict(thrown: unknown): boolean {
  return failureOf(thrown).status === 409;
}

/** Reports whether the store may have rejected the type of checksum. */
export function isChecksumRefused(thrown: unknown): boolean {
  const { name } = failureOf(thrown);
  return ['NotImplemented', 'InvalidRequest', 'InvalidArgument'].includes(name);
}

/** Converts an error of the SDK; `what` is the operation, such as "reading s3://bucket/latest.json". */
export function toStoreError(thrown: unknown, what: string): SightlineError {
  if (thrown instanceof SightlineError) return thrown;
  const { name, status } = failureOf(thrown);
  const text = thrown instanceof Error ? thrown.message : '';
  // The SDK's error is not used as the cause, because it contains the request with its headers and so credentials.
  const cause = new Error(status === undefined ? name : `${name}, HTTP ${status}`);
  if (/region is missing/i.test(text)) {
    const message = `publish.region is not set; set it, AWS_REGION, or the region of the AWS profile`;
    return new SightlineError('config_invalid', message, { cause });
  }
  const why = known[name] ?? (status === undefined ? 'no response' : `HTTP ${status}`);
  const named = status === undefined || name in known ? ` (${name})` : ` ${name}`;
  return new SightlineError('publish_failed', `${what} failed: ${why}${named}`, { cause });
}
