import { resolve } from 'node:path';
import { z } from 'zod';
import { SightlineError } from './errors.ts';
import { isPrivateWay } from './notify-settings.ts';

/** Places where snapshots can be published. */
export const PUBLISH_KINDS = ['folder', 's3', 'iceberg'] as const;
/** How an object store encrypts what it is sent. */
export const ENCRYPTIONS = ['AES256', 'aws:kms'] as const;

/** An object store that speaks S3. Who may write to it is found by the vendor's own rules, and is no setting. */
export interface S3Target {
  readonly bucket: string;
  /** Without a slash at either end; empty for none. */
  readonly prefix: string;
  /** Null where the vendor's own settings say it. */
  readonly region: string | null;
  /** Null for the vendor's own. */
  readonly endpoint: string | null;
  /** Whether the bucket stands in the path of addresses, and not in their host. */
  readonly pathStyle: boolean;
  /** Null leaves it to the bucket. */
  readonly encryption: (typeof ENCRYPTIONS)[number] | null;
  /** Null for the vendor's default key. */
  readonly kmsKeyId: string | null;
}

/** Where files or tables are put: into a folder, which is absolute, or a bucket. */
export type PublishPlace = { readonly kind: 'folder'; readonly path: string } | ({ readonly kind: 's3' } & S3Target);

/** Where snapshots are published, and as what; the workspace's folder has them in any case. */
export type PublishTarget =
  | { readonly kind: 'folder' }
  | ({ readonly kind: 's3' } & S3Target)
  | { readonly kind: 'iceberg'; readonly place: PublishPlace };

// Segments that a path would swallow, or that would make another one of it, are no names of folders in a bucket either.
const PREFIX = /^(?!\.{1,2}(\/|$))[\w.=+@-]+(\/(?!\.{1,2}(\/|$))[\w.=+@-]+)*$/;

/** How `publish` stands in the file. */
export const publishSchema = z.strictObject({
  kind: z.enum(PUBLISH_KINDS),
  path: z.string().min(1).max(1024).optional(),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)
    .optional(),
  prefix: z.string().max(512).regex(PREFIX).optional(),
  region: z
    .string()
    .regex(/^[a-zA-Z0-9-]{1,64}$/)
    .optional(),
  endpoint: z.string().optional(),
  pathStyle: z.boolean().optional(),
  encryption: z.enum(ENCRYPTIONS).optional(),
  kmsKeyId: z
    .string()
    .regex(/^[\w:/-]{1,2048}$/)
    .optional(),
});

/** Members of `publish`, with what each may be, in words. */
export const publishAllowed = {
  kind: PUBLISH_KINDS.join(' or '),
  path: 'a folder, with "kind": "iceberg" and without a bucket',
  bucket: 'the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
  prefix: 'names of folders with / between them, such as lake/sightline, of letters, digits and _ . = + @ -',
  region: 'the name of a region, such as eu-central-1',
  endpoint: 'the https address of an object store that speaks S3',
  pathStyle: 'true or false',
  encryption: ENCRYPTIONS.join(' or '),
  kmsKeyId: 'the id or the ARN of a key, with "encryption": "aws:kms"',
} as const;

/** Checks `publish` as a whole; a path is taken from `folder` on. Throws `config_invalid` with the setting and what is allowed. */
export function readPublish(
  given: z.infer<typeof publishSchema>,
  { allowHttp, folder }: { readonly allowHttp: boolean; readonly folder: string },
): PublishTarget {
  const { kind, path, ...bucket } = given;
  if (kind === 'folder') {
    const extra = Object.keys(given).find((name) => name !== 'kind');
    if (extra === undefined) return { kind };
    const other = extra === 'path' ? 'iceberg' : 's3';
    throw refuse(`publish.${extra}`, 'is set; a folder has no such setting', `it with "kind": "${other}"`);
  }
  if (path === undefined) {
    const target = { kind: 's3', ...readS3Target('publish', bucket, allowHttp) } as const;
    return kind === 's3' ? target : { kind, place: target };
  }
  if (kind === 's3') throw refuse('publish.path', 'is set; a bucket has a prefix', publishAllowed.path);
  const extra = Object.keys(bucket)[0];
  if (extra !== undefined) throw refuse(`publish.${extra}`, 'is set beside publish.path', 'one of path and bucket');
  return { kind, place: { kind: 'folder', path: resolve(folder, path) } };
}

/** Checks an object store that `setting` names. Throws `config_invalid` with the setting and what is allowed. */
export function readS3Target(
  setting: string,
  given: Omit<z.infer<typeof publishSchema>, 'kind' | 'path'>,
  allowHttp: boolean,
): S3Target {
  const { bucket, prefix = '', region, endpoint, pathStyle, encryption, kmsKeyId } = given;
  if (bucket === undefined) throw refuse(`${setting}.bucket`, 'is not set', publishAllowed.bucket);
  if (kmsKeyId !== undefined && encryption !== 'aws:kms') {
    throw refuse(`${setting}.kmsKeyId`, 'is set without "encryption": "aws:kms"', publishAllowed.kmsKeyId);
  }
  return {
    bucket,
    prefix,
    region: region ?? null,
    endpoint: endpoint === undefined ? null : readEndpoint(`${setting}.endpoint`, endpoint, allowHttp),
    // Where addresses are one's own, names of buckets are seldom made into hosts.
    pathStyle: pathStyle ?? endpoint !== undefined,
    encryption: encryption ?? null,
    kmsKeyId: kmsKeyId ?? null,
  };
}

// What is refused is not shown: it may hold a password.
function readEndpoint(name: string, text: string, allowHttp: boolean): string {
  const allowed = `${publishAllowed.endpoint}; http only on loopback, or with SIGHTLINE_ALLOW_HTTP=1`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !isPrivateWay(url, allowHttp)) throw refuse(name, 'is not an address to send to', allowed);
  if (url.username !== '' || url.password !== '') throw refuse(name, 'holds a user name or password', allowed);
  if (url.search !== '' || url.hash !== '') throw refuse(name, 'has a query or a fragment', allowed);
  return url.href.replace(/\/+$/, '');
}

function refuse(name: string, what: string, allowed: string): SightlineError {
  return new SightlineError('config_invalid', `${name} ${what}; allowed: ${allowed}`);
}
