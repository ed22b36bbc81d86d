import { resolve } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readPostgresUrl } from './budget-settings.ts';
import { variableName, workspaceName } from './shared-schemas.ts';

/** A destination with its connection. A URL may contain a password: never show, log or write it. */
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

const urlVariable = variableName('the name of the environment variable with the URL');
// DuckDB parses the rest of a path with a question mark as parameters.
const path = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^?]*$/)
  .describe('the path of a file, without "?"');
const data = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^?:]*$/)
  .describe('the path of a folder, without "?" and ":"');

const destination = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('postgres'), urlVariable }),
  z.strictObject({ kind: z.literal('ducklake'), data, urlVariable: urlVariable.optional(), path: path.optional() }),
  z.strictObject({ kind: z.literal('sqlite'), path }),
  z.strictObject({ kind: z.literal('duckdb'), path }),
]);

/** Kinds of databases that destinations can be. */
export const DESTINATION_KINDS = destination.options.map(({ shape }) => shape.kind.value);

/** Schema of the `destinations` setting in the configuration file. Names are like those of workspaces. */
export const destinationsSchema = z
  .record(
    workspaceName,
    destination.describe(
      'an object with "kind": "postgres" and urlVariable, with "kind": "ducklake", data, and urlVariable or path, or with "kind": "sqlite" or "duckdb" and path',
    ),
  )
  .describe('an object with a member for each destination');

/**
 * Resolves one destination, and reads the URL of its database from the variable. Paths are relative to `folder`.
 * @throws `config_invalid` naming the setting or the variable, never its value
 */
export function readDestination(
  name: string,
  given: z.infer<typeof destinationsSchema>[string],
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): DestinationTarget {
  switch (given.kind) {
    case 'postgres':
      return { kind: given.kind, url: readPostgresUrl(given.urlVariable, environment, folder) };
    case 'ducklake': {
      const { kind, urlVariable: variable, path: file } = given;
      if ((variable === undefined) === (file === undefined)) {
        const problem = file === undefined ? 'has neither urlVariable nor path' : 'has both urlVariable and path';
        throw new SightlineError('config_invalid', `destinations.${name} ${problem}; allowed: one of the two`);
      }
      const catalog =
        variable === undefined
          ? { path: resolve(folder, file ?? '') }
          : { url: readPostgresUrl(variable, environment, folder) };
      return { kind, catalog, data: resolve(folder, given.data) };
    }
    default:
      return { kind: given.kind, path: resolve(folder, given.path) };
  }
}
