import { resolve } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readSecret } from './key-file.ts';
import { variableName } from './shared-schemas.ts';

/** Kinds of databases that destinations can be. */
export const DESTINATION_KINDS = ['postgres', 'ducklake', 'sqlite', 'duckdb'] as const;

/** A destination with its connection. `url` may contain a password: never show, log or write it. */
export type DestinationTarget =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite' | 'duckdb'; readonly path: string }
  | {
      readonly kind: 'ducklake';
      /** The PostgreSQL database or the SQLite file with the catalog. */
      readonly catalog: { readonly url: string } | { readonly path: string };
      /** Folder of the Parquet files. */
      readonly data: string;
    };

const path = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^?]*$/)
  .describe('the path of a file, without "?"');

/** Schema of one destination in the configuration file. */
const destinationSchema = z.strictObject({
  kind: z.enum(DESTINATION_KINDS),
  urlVariable: variableName('the name of the environment variable with the URL').optional(),
  path: path.optional(),
  data: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[^?:]*$/)
    .describe('the path of a folder, without "?" and ":"')
    .optional(),
});

/** Schema of the `destinations` setting in the configuration file. */
export const destinationsSchema = z
  .record(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
      .describe('lower-case letters, digits, - and _, at most 64'),
    destinationSchema,
  )
  .describe('an object with a member for each destination');

type Given = z.infer<typeof destinationSchema>;

/** The members of each kind besides `kind`; those of one list are alternatives. */
const MEMBERS: Readonly<Record<Given['kind'], readonly (readonly (keyof Given)[])[]>> = {
  postgres: [['urlVariable']],
  ducklake: [['urlVariable', 'path'], ['data']],
  sqlite: [['path']],
  duckdb: [['path']],
};

/**
 * Validates the `destinations` setting, and reads the URL of the destination `name` from its variable. Paths are relative to `folder`.
 * @throws `config_invalid` naming the setting or the variable, never its value
 */
export function readDestination(
  name: string,
  given: Given,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): DestinationTarget {
  const { kind } = given;
  const groups = MEMBERS[kind];
  for (const member of Object.keys(given) as (keyof Given)[]) {
    if (member === 'kind' || groups.some((group) => group.includes(member))) continue;
    throw refuse(`destinations.${name}.${member}`, `is set, but the kind is "${kind}"`, groups.flat().join(', '));
  }
  for (const group of groups) {
    const set = group.filter((member) => given[member] !== undefined);
    if (set.length === 1) continue;
    const problem = set.length === 0 ? 'is not set' : `and destinations.${name}.${set[1]} are both set`;
    throw refuse(`destinations.${name}.${set[0] ?? group[0]}`, problem, `one of ${group.join(', ')}`);
  }
  const file = resolve(folder, given.path ?? '');
  const readUrl = (): string =>
    toUrl(String(given.urlVariable), readSecret(String(given.urlVariable), environment, folder));
  if (kind === 'postgres') return { kind, url: readUrl() };
  if (kind !== 'ducklake') return { kind, path: file };
  const catalog = given.urlVariable === undefined ? { path: file } : { url: readUrl() };
  return { kind, catalog, data: resolve(folder, given.data ?? '') };
}

function toUrl(variable: string, text: string | undefined): string {
  const allowed = 'the URL of a PostgreSQL database, such as postgres://user:password@host:5432/database';
  if (text === undefined || text.trim() === '') throw refuse(variable, 'is not set', allowed);
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '')
    throw refuse(variable, 'is not the URL of a PostgreSQL database', allowed);
  return url.href;
}

function refuse(name: string, problem: string, allowed: string): SightlineError {
  return new SightlineError('config_invalid', `${name} ${problem}; allowed: ${allowed}`);
}
