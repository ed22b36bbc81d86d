import { resolve } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readMysqlUrl, readPostgresUrl } from './budget-settings.ts';
import { readSecret } from './key-file.ts';
import { readEndpoint } from './publish-settings.ts';
import { variableName, workspaceName } from './shared-schemas.ts';

/** Kinds that cannot be a home: a transaction of Iceberg has one table, and one of MySQL does not see that another one has taken the lease. */
export const NO_HOMES = ['mysql', 'iceberg'] as const;
/** Description of the kinds of a home. */
export const HOME_KINDS = `not of kind ${NO_HOMES.join(' or ')}`;

/** A destination with its connection. A URL may contain a password: never show, log or write it. */
export type DestinationTarget = {
  /** Whether each workspace has a schema of its own. */
  readonly schemaPerWorkspace?: boolean | undefined;
} & (
  | { readonly kind: 'postgres' | 'mysql'; readonly url: string }
  | { readonly kind: 'sqlite' | 'duckdb'; readonly path: string }
  | {
      readonly kind: 'ducklake';
      /** The PostgreSQL database or the SQLite file with the catalog. */
      readonly catalog: { readonly url: string } | { readonly path: string };
      /** Folder of the Parquet files. */
      readonly data: string;
    }
  | {
      readonly kind: 'iceberg';
      /** URL of the REST catalog, without a trailing slash. */
      readonly url: string;
      /** Name of the warehouse; empty for the only one of the catalog. */
      readonly warehouse: string;
      readonly access: CatalogAccess | null;
    }
);

/** A bearer token, or the client of OAuth 2 that requests one. Never show, log or write the token and the secret. */
export type CatalogAccess =
  | { readonly token: string }
  | {
      readonly clientId: string;
      readonly clientSecret: string;
      readonly tokenUrl: string;
      /** Null for the scope that most catalogs accept: `PRINCIPAL_ROLE:ALL`. */
      readonly scope: string | null;
    };

const urlVariable = variableName('the name of the environment variable with the URL').meta({
  about: 'postgres, mysql: the database; ducklake: its catalog in PostgreSQL',
});
// DuckDB parses the rest of a path with a question mark as parameters.
const path = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^?]*$/)
  .describe('the path of a file, without "?"')
  .meta({ about: 'sqlite, duckdb: the file; ducklake: the SQLite file with the catalog' });
const data = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^?:]*$/)
  .describe('the path of a folder, without "?" and ":"')
  .meta({ about: 'ducklake: the folder of the Parquet files' });

const CATALOG = 'an Iceberg REST catalog';
const TOKENS = 'a server that returns tokens of OAuth 2';
const printable = z
  .string()
  .regex(/^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/)
  .describe('printable ASCII characters');

const schemaPerWorkspace = z
  .boolean()
  .optional()
  .describe('true for a schema for each workspace, or false for one schema with a column for the workspace')
  .meta({ about: 'not for sqlite', preset: false });

const destination = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('postgres').meta({ about: 'the kind of database' }),
    urlVariable,
    schemaPerWorkspace,
  }),
  z.strictObject({ kind: z.literal('mysql'), urlVariable, schemaPerWorkspace }),
  z.strictObject({
    kind: z.literal('ducklake'),
    data,
    urlVariable: urlVariable.optional(),
    path: path.optional(),
    schemaPerWorkspace,
  }),
  z.strictObject({ kind: z.literal('sqlite'), path }),
  z.strictObject({ kind: z.literal('duckdb'), path, schemaPerWorkspace }),
  z.strictObject({
    kind: z.literal('iceberg'),
    url: z.string().describe(`the https URL of ${CATALOG}`).meta({ about: 'iceberg: /v1/config is added to the URL' }),
    warehouse: printable.optional().meta({ about: 'iceberg: the warehouse', whenUnset: 'the only one of the catalog' }),
    tokenVariable: variableName('the name of the environment variable with the token')
      .optional()
      .meta({ about: 'iceberg: a bearer token' }),
    credentialVariable: variableName('the name of the environment variable with <client ID>:<secret>')
      .optional()
      .meta({ about: 'iceberg, instead of tokenVariable: the client of OAuth 2 that requests and renews tokens' }),
    tokenUrl: z.string().describe(`the https URL of ${TOKENS}`).optional().meta({
      about: 'iceberg, with credentialVariable: where tokens are requested',
      whenUnset: '<url>/v1/oauth/tokens',
    }),
    scope: printable
      .optional()
      .meta({ about: 'iceberg, with credentialVariable: the scope of tokens', whenUnset: 'PRINCIPAL_ROLE:ALL' }),
    schemaPerWorkspace,
  }),
]);

/** Kinds of databases that destinations can be. */
export const DESTINATION_KINDS = destination.options.map(({ shape }) => shape.kind.value);

/** Schema of the `destinations` setting in the configuration file. Names are like those of workspaces. */
export const destinationsSchema = z
  .record(
    workspaceName,
    destination.describe(
      'an object with "kind": "postgres" or "mysql" and urlVariable, with "kind": "ducklake", data, and urlVariable or path, with "kind": "sqlite" or "duckdb" and path, or with "kind": "iceberg" and url',
    ),
  )
  .describe('an object with a member for each destination');

type Given = z.infer<typeof destination>;

/** What the settings of a destination refer to. */
interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the configuration file, to which paths are relative. */
  readonly folder: string;
  readonly allowHttp: boolean;
}

/**
 * Resolves one destination, and reads URLs and secrets from their variables.
 * @throws `config_invalid` naming the setting or the variable, never its value
 */
export function readDestination(name: string, given: Given, surroundings: Surroundings): DestinationTarget {
  const { environment, folder, allowHttp } = surroundings;
  switch (given.kind) {
    case 'postgres':
    case 'mysql':
      return {
        kind: given.kind,
        url: (given.kind === 'mysql' ? readMysqlUrl : readPostgresUrl)(given.urlVariable, environment, folder),
        schemaPerWorkspace: given.schemaPerWorkspace,
      };
    case 'ducklake': {
      const { kind, urlVariable: variable, path: file, schemaPerWorkspace: isDivided } = given;
      if ((variable === undefined) === (file === undefined)) {
        const problem = file === undefined ? 'has neither urlVariable nor path' : 'has both urlVariable and path';
        throw new SightlineError('config_invalid', `destinations.${name} ${problem}; allowed: one of the two`);
      }
      const catalog =
        variable === undefined
          ? { path: resolve(folder, file ?? '') }
          : { url: readPostgresUrl(variable, environment, folder) };
      return { kind, catalog, data: resolve(folder, given.data), schemaPerWorkspace: isDivided };
    }
    case 'iceberg': {
      const url = readEndpoint(`destinations.${name}.url`, given.url, CATALOG, allowHttp);
      const access = readAccess(`destinations.${name}`, given, url, surroundings);
      const { kind, warehouse = '', schemaPerWorkspace: isDivided } = given;
      return { kind, url, warehouse, access, schemaPerWorkspace: isDivided };
    }
    case 'duckdb':
      return {
        kind: given.kind,
        path: resolve(folder, given.path),
        schemaPerWorkspace: given.schemaPerWorkspace,
      };
    case 'sqlite':
      return { kind: given.kind, path: resolve(folder, given.path) };
  }
}

function readAccess(
  name: string,
  { tokenVariable, credentialVariable, tokenUrl, scope }: Extract<Given, { kind: 'iceberg' }>,
  url: string,
  { environment, folder, allowHttp }: Surroundings,
): CatalogAccess | null {
  const refuse = (problem: string, allowed: string): SightlineError =>
    new SightlineError('config_invalid', `${problem}; allowed: ${allowed}`);
  const read = (variable: string): string => readSecret(variable, environment, folder)?.trim() ?? '';
  if (tokenVariable !== undefined && credentialVariable !== undefined)
    throw refuse(`${name} has both tokenVariable and credentialVariable`, 'one of the two');
  if (credentialVariable !== undefined) {
    const [, clientId, clientSecret] = /^([^:]+):(.+)$/.exec(read(credentialVariable)) ?? [];
    if (clientId === undefined || clientSecret === undefined)
      throw refuse(`${credentialVariable} is not set or has no colon`, '<client ID>:<secret>');
    const server = tokenUrl ?? `${url}/v1/oauth/tokens`;
    return {
      clientId,
      clientSecret,
      tokenUrl: readEndpoint(`${name}.tokenUrl`, server, TOKENS, allowHttp),
      scope: scope ?? null,
    };
  }
  const extra = tokenUrl !== undefined ? 'tokenUrl' : scope !== undefined ? 'scope' : null;
  if (extra !== null) throw refuse(`${name}.${extra} is set without credentialVariable`, 'both');
  if (tokenVariable === undefined) return null;
  const token = read(tokenVariable);
  if (token === '') throw refuse(`${tokenVariable} is not set`, 'the token of the catalog');
  return { token };
}
