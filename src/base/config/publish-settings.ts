import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import type { FindProxy } from '../proxies.ts';
import { isPrivateWay, PRIVATE_WAY } from './notify-settings.ts';
import { allowedOf } from './setting-schema.ts';

/** Destinations to which snapshots can be published. */
const PUBLISH_KINDS = ['folder', 's3'] as const;
/** Server-side encryption of objects. */
export const ENCRYPTIONS = ['AES256', 'aws:kms'] as const;

const STORE = 'an S3-compatible object store';

/** An S3-compatible object store. Credentials are not settings: the AWS SDK finds them by its own rules. */
export interface S3Target {
  readonly bucket: string;
  /** Without a leading or trailing slash; empty if there is no prefix. */
  readonly prefix: string;
  /** Null leaves the region to the settings of the AWS SDK. */
  readonly region: string | null;
  /** URL of the store; null for AWS. */
  readonly endpoint: string | null;
  /** True if the bucket is part of the URL's path, false if it is part of the host name. */
  readonly pathStyle: boolean;
  /** Null for the default of the bucket. */
  readonly encryption: (typeof ENCRYPTIONS)[number] | null;
  /** Null for the default key of the store. */
  readonly kmsKeyId: string | null;
  readonly findProxy: FindProxy;
}

/** Surroundings of a store's settings. */
export interface StoreSurroundings {
  readonly allowHttp: boolean;
  readonly findProxy: FindProxy;
}

/** Destination of published snapshots. The workspace's folder always has them too. */
export type PublishTarget = { readonly kind: 'folder' } | ({ readonly kind: 's3' } & S3Target);

// Rejects the segments `.` and `..`, which would resolve to another path in a folder.
const PREFIX = /^(?!\.{1,2}(\/|$))[\w.=+@-]+(\/(?!\.{1,2}(\/|$))[\w.=+@-]+)*$/;

/** Schema of the `publish` setting in the configuration file. */
export const publishSchema = z.strictObject({
  kind: z.enum(PUBLISH_KINDS).meta({ about: 'folder: only to the folder of the workspace; s3: also to a bucket' }),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)
    .describe('the name of a bucket that exists: 3 to 63 lower-case letters, digits, dots and hyphens')
    .optional(),
  prefix: z
    .string()
    .max(512)
    .regex(PREFIX)
    .describe('folder names separated by /, such as lake/sightline, of letters, digits and _ . = + @ -')
    .optional()
    .meta({ about: 'objects are below <prefix>/<workspace>/', whenUnset: 'none' }),
  region: z
    .string()
    .regex(/^[a-zA-Z0-9-]{1,64}$/)
    .describe('the region of the bucket, such as eu-central-1')
    .optional()
    .meta({ whenUnset: "AWS_REGION or the profile's, or us-east-1 with an endpoint" }),
  endpoint: z.string().describe(`the https URL of ${STORE}`).optional().meta({ whenUnset: 'AWS' }),
  pathStyle: z.boolean().optional().meta({
    about: 'whether the bucket is in the path instead of the host name',
    whenUnset: 'true with an endpoint, otherwise false',
  }),
  encryption: z
    .enum(ENCRYPTIONS)
    .optional()
    .meta({ about: 'the encryption of objects by the store', whenUnset: 'that of the bucket' }),
  kmsKeyId: z
    .string()
    .regex(/^[\w:/-]{1,2048}$/)
    .describe('the id or the ARN of a key, with "encryption": "aws:kms"')
    .optional()
    .meta({ whenUnset: 'the default key of the account' }),
});

/**
 * Validates `publish` and resolves it with defaults.
 * @throws `config_invalid` with the setting and its allowed values
 */
export function readPublish(given: z.infer<typeof publishSchema>, surroundings: StoreSurroundings): PublishTarget {
  const { kind, ...bucket } = given;
  if (kind === 's3') return { kind, ...readS3Target('publish', bucket, surroundings) };
  const [extra] = Object.keys(bucket);
  if (extra === undefined) return { kind };
  throw refuse(`publish.${extra}`, 'is set, but publish.kind is "folder"', 'it with "kind": "s3"');
}

/**
 * Validates the object store of the setting `publish` and resolves it with defaults.
 * @throws `config_invalid` with the setting and its allowed values
 */
export function readS3Target(
  setting: string,
  given: Omit<z.infer<typeof publishSchema>, 'kind'>,
  { allowHttp, findProxy }: StoreSurroundings,
): S3Target {
  const { bucket, prefix = '', region, endpoint, pathStyle, encryption, kmsKeyId } = given;
  if (bucket === undefined) throw refuse(`${setting}.bucket`, 'is not set', allowedOf(publishSchema.shape.bucket));
  if (kmsKeyId !== undefined && encryption !== 'aws:kms') {
    throw refuse(
      `${setting}.kmsKeyId`,
      'is set without "encryption": "aws:kms"',
      allowedOf(publishSchema.shape.kmsKeyId),
    );
  }
  return {
    bucket,
    prefix,
    region: region ?? null,
    endpoint: endpoint === undefined ? null : readEndpoint(`${setting}.endpoint`, endpoint, STORE, allowHttp),
    // Stores with their own endpoint seldom support bucket names as host names.
    pathStyle: pathStyle ?? endpoint !== undefined,
    encryption: encryption ?? null,
    kmsKeyId: kmsKeyId ?? null,
    findProxy,
  };
}

/**
 * Returns the URL of a service without a trailing slash.
 * @throws `config_invalid` naming the setting, not its value, which may contain a password
 */
export function readEndpoint(name: string, text: string, service: string, allowHttp: boolean): string {
  const allowed = `the https URL of ${service}; ${PRIVATE_WAY}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !isPrivateWay(url, allowHttp)) throw refuse(name, `is not the URL of ${service}`, allowed);
  if (url.username !== '' || url.password !== '') throw refuse(name, 'contains a user name or password', allowed);
  if (url.search !== '' || url.hash !== '') throw refuse(name, 'has a query or a fragment', allowed);
  return url.href.replace(/\/+$/, '');
}

function refuse(name: string, problem: string, allowed: string): SightlineError {
  return new SightlineError('config_invalid', `${name} ${problem}; allowed: ${allowed}`);
}
