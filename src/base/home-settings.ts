import { z } from 'zod';
import { SightlineError } from './errors.ts';
import { publishAllowed, publishSchema, readS3Target, type S3Target } from './publish-settings.ts';

/** Where the warehouse of a workspace can be at home. */
export const HOME_KINDS = ['local', 's3'] as const;

/** Where the warehouse of a workspace is at home: its folder, or a bucket from which whoever works on it checks it out. */
export type HomeSettings = { readonly kind: 'local' } | ({ readonly kind: 's3' } & S3Target);

/** How `home` stands in the file. */
export const homeSchema = publishSchema.omit({ kind: true, path: true }).extend({ kind: z.enum(HOME_KINDS) });

const { path: _path, ...bucketAllowed } = publishAllowed;
/** Members of `home`, with what each may be, in words. */
export const homeAllowed = { ...bucketAllowed, kind: HOME_KINDS.join(' or ') } as const;

/** Checks `home` as a whole. Throws `config_invalid` with the setting and what is allowed. */
export function readHome(given: z.infer<typeof homeSchema>, allowHttp: boolean): HomeSettings {
  const { kind, ...target } = given;
  if (kind === 's3') return { kind, ...readS3Target('home', target, allowHttp) };
  const extra = Object.keys(target)[0];
  if (extra === undefined) return { kind };
  const message = `home.${extra} is set; a local home has no such setting; allowed: it with "kind": "s3"`;
  throw new SightlineError('config_invalid', message);
}
