import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { quietStoreClient } from '../../base/config/environment.ts';
import type { S3Target } from '../../base/config/publish-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { installLine } from '../../base/optional-packages.ts';
import { createProxyHandler } from './proxy-handler.ts';

/** Where the SDK finds buckets without an endpoint; decides whether a proxy is used. */
const AWS = 'https://s3.amazonaws.com';
/** Maximum attempts of a request, if the store is busy or does not respond. */
export const ATTEMPTS_MAX = 5;
const CONNECT_MS = 10_000;
/** A connection without traffic for this long is closed. */
const SILENT_MS = 60_000;

/** The parts of the AWS SDK that are used. */
export type Sdk = typeof import('@aws-sdk/client-s3') & Pick<typeof import('@aws-sdk/lib-storage'), 'Upload'>;

/** State that the requests of one store share. */
export interface Connection {
  readonly sdk: Sdk;
  readonly client: S3Client;
  /** A client without retries. */
  readonly once: S3Client;
  readonly target: S3Target;
  readonly signal: AbortSignal;
  /** Prefix of every key. */
  readonly base: string;
  readonly location: string;
  readonly partBytes: number;
  /** Properties of the store that were found out from its responses. */
  readonly learned: { checksum: number; wantsBareTags: boolean };
}

/**
 * Loads the AWS SDK, an optional package of 22 MB.
 * @throws `config_invalid` if it is not installed
 */
export async function loadSdk(): Promise<Sdk> {
  quietStoreClient();
  try {
    const [s3, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
    return { ...s3, Upload };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown;
    const message = `publish names a bucket, but the packages for it are not installed; run \`${installLine('bucket')}\``;
    throw new SightlineError('config_invalid', message, { cause: thrown });
  }
}

// The SDK finds omitted settings in the environment, the profile, the role or the metadata of the machine.
/** Returns the settings of the SDK's client for a target. */
export function settingsOf({ region, endpoint, pathStyle, findProxy }: S3Target): S3ClientConfig {
  const chosen = region ?? (endpoint === null ? null : 'us-east-1');
  return {
    ...(chosen === null ? {} : { region: chosen }),
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle: pathStyle,
    maxAttempts: ATTEMPTS_MAX,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler:
      findProxy(new URL(endpoint ?? AWS)) === null
        ? { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS }
        : createProxyHandler(findProxy, { connectMs: CONNECT_MS, silentMs: SILENT_MS }),
  };
}
