import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { quietStoreClient } from '../base/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { S3Target } from '../base/publish-settings.ts';
import type { StoreUse } from './object-store.ts';

/** How often a request is made at most, where the store is busy or does not answer. */
export const ATTEMPTS_MAX = 5;
const CONNECT_MS = 10_000;
/** A connection on which nothing moves for this long is given up. */
const SILENT_MS = 60_000;
const answered = new WeakMap<object, number>();

/** The parts of the client. */
export type Sdk = typeof import('@aws-sdk/client-s3') & Pick<typeof import('@aws-sdk/lib-storage'), 'Upload'>;

/** What the requests of one store share. */
export interface Connection {
  readonly sdk: Sdk;
  readonly client: S3Client;
  /** Makes no request twice. */
  readonly once: S3Client;
  readonly target: S3Target;
  readonly signal: AbortSignal;
  /** What stands before each key. */
  readonly base: string;
  readonly location: string;
  readonly partBytes: number;
  readonly use: StoreUse;
  /** What was found out of the store on the way. */
  readonly learned: { checksum: number; wantsBareTags: boolean };
}

/** Loads the client, 22 MB that few need. Throws `config_invalid` where it is not installed. */
export async function loadSdk({ setting }: StoreUse): Promise<Sdk> {
  quietStoreClient();
  try {
    const [s3, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
    return { ...s3, Upload };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown;
    const install = 'npm install @aws-sdk/client-s3@3.1169 @aws-sdk/lib-storage@3.1169';
    const message = `${setting} names a bucket, and the packages for that are not installed: ${install}`;
    throw new SightlineError('config_invalid', message, { cause: thrown });
  }
}

// What is left out is found as the vendor's own tools find it: environment, profile, role, metadata of the machine.
/** The settings of a client of a store. */
export function settingsOf({ region, endpoint, pathStyle }: S3Target): S3ClientConfig {
  const chosen = region ?? (endpoint === null ? null : 'us-east-1');
  return {
    ...(chosen === null ? {} : { region: chosen }),
    ...(endpoint === null ? {} : { endpoint }),
    forcePathStyle: pathStyle,
    maxAttempts: ATTEMPTS_MAX,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
  };
}

/** A client that keeps of each answer when it was given, which is in its headers. */
export function withDates(client: S3Client): S3Client {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { headers?: Readonly<Record<string, string>> };
      const at = Date.parse(headers?.['date'] ?? '');
      if (typeof result.output === 'object' && !Number.isNaN(at)) answered.set(result.output, at);
      return result;
    },
    { step: 'deserialize', priority: 'high' },
  );
  return client;
}

/** When the store gave an answer, by its own clock, epoch milliseconds; null where it does not say. */
export function answeredAt(answer: object): number | null {
  return answered.get(answer) ?? null;
}
