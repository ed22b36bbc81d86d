import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { publishSchema, readS3Target, type S3Target, type StoreSurroundings } from './publish-settings.ts';

/** Possible locations of a workspace's warehouse. */
export const REMOTE_KINDS = ['local', 's3'] as const;

/** Location of a workspace's warehouse: its folder, or a bucket from which the process that works on it checks it out. */
export type RemoteSettings = { readonly kind: 'local' } | ({ readonly kind: 's3' } & S3Target);

/** Schema of the `remote` setting in the configuration file. */
export const remoteSchema = publishSchema.omit({ kind: true, path: true }).extend({ kind: z.enum(REMOTE_KINDS) });

/**
 * Validates `remote` and resolves it with defaults.
 * @throws `config_invalid` with the setting and its allowed values
 */
export function readRemote(given: z.infer<typeof remoteSchema>, surroundings: StoreSurroundings): RemoteSettings {
  const { kind, ...target } = given;
  if (kind === 's3') return { kind, ...readS3Target('remote', target, surroundings) };
  const extra = Object.keys(target)[0];
  if (extra === undefined) return { kind };
  const message = `remote.${extra} is set, but remote.kind is "local"; allowed: remote.${extra} with "kind": "s3"`;
  throw new SightlineError('config_invalid', message);
}
