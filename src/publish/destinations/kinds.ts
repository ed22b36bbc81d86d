import { existsSync } from 'node:fs';
import type { DestinationTarget } from '../../base/config/destination-settings.ts';
import { literal, quoted } from '../../warehouse/schema.ts';

/** Name under which a destination is attached. */
export const DESTINATION = 'destination';

/** What DuckDB needs to attach a destination, and how it differs from the other kinds. */
export interface Attachment {
  /** Extensions of DuckDB, in the order in which they are loaded. */
  readonly extensions: readonly string[];
  /** Statements that attach the destination. They contain passwords. */
  readonly statements: readonly string[];
  /** Texts that no message may contain. */
  readonly secrets: readonly string[];
  readonly schema: string;
  /** Whether tables have a primary key, so that rows are found by their keys without reading the table. */
  readonly hasKeys: boolean;
  /** Runs a statement in the destination's own SQL, within the transaction; null if DuckDB's statements do everything. */
  readonly inDestination: ((sql: string) => string) | null;
  /** Whether tables and columns can have comments. */
  readonly hasComments: boolean;
  /** Whether JSON has a type of its own; otherwise it is text. */
  readonly hasJson: boolean;
  /**
   * Whether tables are created and altered before the transaction, because they cannot be in it, and whether it may end with some of
   * its tables written: the identity of the data is then written after it.
   */
  readonly isStepwise: boolean;
  /** A query after the attachment, the value that it must return, and the problem with any other. */
  readonly requirement?: { readonly sql: string; readonly value: string; readonly problem: string };
}

/** Schema of the loaded tables. */
const SCHEMA = 'sightline';
/** PostgreSQL allows no character NUL in texts; this is its symbol. */
const NUL_SYMBOL = '\u2400';
/** Shorter texts also occur in words. */
const SECRET_LENGTH_MIN = 4;
const POSTGRES_SECRET = 'destination_postgres';
const CATALOG_SECRET = 'destination_catalog';
/** What most kinds have. */
const USUAL = { schema: SCHEMA, inDestination: null, hasComments: true, hasJson: true, isStepwise: false } as const;

/** An empty destination that is not kept, for a dry run into one that does not exist yet. */
export const NOWHERE: Attachment = {
  extensions: [],
  statements: [`ATTACH ':memory:' AS ${DESTINATION}`],
  secrets: [],
  hasKeys: false,
  ...USUAL,
};

/** Message of DuckDB about a lake without a catalog, if the statement must not create one. */
export const NO_LAKE = /creating a new DuckLake is explicitly disabled/;

/** Returns how to attach a destination; without `creates`, nothing is created if it does not exist. */
export function attachmentOf(target: DestinationTarget, creates = true): Attachment {
  const file = fileOf(target);
  if (!creates && file !== null && !existsSync(file)) return NOWHERE;
  switch (target.kind) {
    case 'postgres': {
      const { secret, options, secrets } = postgresSecret(target.url);
      return {
        extensions: ['postgres_scanner'],
        statements: [
          secret,
          `SET pg_null_byte_replacement = ${literal(NUL_SYMBOL)}`,
          `ATTACH ${literal(options)} AS ${DESTINATION} (TYPE postgres, SECRET ${POSTGRES_SECRET})`,
        ],
        secrets,
        ...USUAL,
        hasKeys: true,
        inDestination: (sql) => `CALL postgres_execute('${DESTINATION}', ${literal(sql)})`,
        requirement: {
          sql: `SELECT * FROM postgres_query('${DESTINATION}', 'SELECT current_setting(''server_encoding'') AS encoding')`,
          value: 'UTF8',
          problem: 'the encoding of the database must be UTF8; it is',
        },
      };
    }
    case 'ducklake':
      return { ...lakeAttachment(target, creates), ...USUAL, hasKeys: false };
    case 'iceberg':
      return {
        ...catalogAttachment(target),
        ...USUAL,
        hasKeys: false,
        hasComments: false,
        hasJson: false,
        isStepwise: true,
      };
    case 'sqlite':
      return {
        extensions: ['sqlite_scanner'],
        statements: [`ATTACH ${literal(target.path)} AS ${DESTINATION} (TYPE sqlite)`],
        secrets: [],
        ...USUAL,
        // SQLite has one schema.
        schema: 'main',
        hasKeys: true,
        hasComments: false,
      };
    case 'duckdb':
      return {
        extensions: [],
        statements: [
          `ATTACH ${literal(target.path)} AS ${DESTINATION}${existsSync(target.path) ? '' : " (STORAGE_VERSION 'v1.0.0')"}`,
        ],
        secrets: [],
        ...USUAL,
        hasKeys: false,
      };
  }
}

/** The file of a destination, or of its catalog; null if it is on a server. */
export function fileOf(target: DestinationTarget): string | null {
  if (target.kind === 'postgres' || target.kind === 'iceberg') return null;
  if (target.kind !== 'ducklake') return target.path;
  return 'path' in target.catalog ? target.catalog.path : null;
}

function lakeAttachment(
  { catalog, data }: Extract<DestinationTarget, { kind: 'ducklake' }>,
  creates: boolean,
): Pick<Attachment, 'extensions' | 'statements' | 'secrets'> {
  const folder = literal(`${data}/`);
  if ('path' in catalog) {
    return {
      extensions: ['ducklake', 'sqlite_scanner'],
      statements: [`ATTACH ${literal(`ducklake:sqlite:${catalog.path}`)} AS ${DESTINATION} (DATA_PATH ${folder})`],
      secrets: [],
    };
  }
  const { secret, options, secrets } = postgresSecret(catalog.url);
  return {
    extensions: ['ducklake', 'postgres_scanner'],
    statements: [
      secret,
      `CREATE SECRET destination_lake (TYPE ducklake, METADATA_PATH ${literal(options)}, DATA_PATH ${folder},
         METADATA_PARAMETERS MAP {'TYPE': 'postgres', 'SECRET': '${POSTGRES_SECRET}'})`,
      `ATTACH 'ducklake:destination_lake' AS ${DESTINATION} (CREATE_IF_NOT_EXISTS ${creates})`,
    ],
    secrets,
  };
}

function catalogAttachment({
  url,
  warehouse,
  access,
}: Extract<DestinationTarget, { kind: 'iceberg' }>): Pick<Attachment, 'extensions' | 'statements' | 'secrets'> {
  const extensions = ['avro', 'httpfs', 'iceberg'];
  const attach = (option: string): string =>
    `ATTACH ${literal(warehouse)} AS ${DESTINATION} (TYPE iceberg, ENDPOINT ${literal(url)}, ${option})`;
  if (access === null) return { extensions, statements: [attach("AUTHORIZATION_TYPE 'none'")], secrets: [] };
  const members =
    'token' in access
      ? { TOKEN: access.token }
      : {
          ...{ CLIENT_ID: access.clientId, CLIENT_SECRET: access.clientSecret, OAUTH2_SERVER_URI: access.tokenUrl },
          ...(access.scope === null ? {} : { OAUTH2_SCOPE: access.scope }),
        };
  const given = Object.entries(members).map(([name, value]) => `${name} ${literal(value)}`);
  return {
    extensions,
    statements: [
      `CREATE SECRET ${CATALOG_SECRET} (TYPE iceberg, ${given.join(', ')})`,
      attach(`SECRET ${CATALOG_SECRET}`),
    ],
    secrets: 'token' in access ? [access.token] : [access.clientSecret],
  };
}

// The password is in a secret, because messages about failed connections contain the text of ATTACH.
function postgresSecret(text: string): { secret: string; options: string; secrets: string[] } {
  const url = new URL(text);
  const password = decodeURIComponent(url.password);
  const parts = {
    HOST: url.hostname.replace(/^\[|\]$/g, ''),
    PORT: url.port === '' ? '5432' : url.port,
    DATABASE: decodeURIComponent(url.pathname.slice(1)),
    USER: decodeURIComponent(url.username),
    PASSWORD: password,
  };
  const members = Object.entries(parts).filter(([, value]) => value !== '');
  const named = [...url.searchParams].flatMap(([name, value]) => (/pass/i.test(name) ? [value] : []));
  const options = [...url.searchParams].map(([name, value]) => {
    // The libraries of PostgreSQL for JavaScript know `ssl`, libpq does not.
    const [own, given] = name === 'ssl' ? ['sslmode', value === 'true' ? 'require' : 'disable'] : [name, value];
    return `${own}='${given.replace(/[\\']/g, '\\$&')}'`;
  });
  return {
    secret: `CREATE SECRET ${POSTGRES_SECRET} (TYPE postgres, ${members.map(([name, value]) => `${name} ${literal(value)}`).join(', ')})`,
    options: options.join(' '),
    secrets: [password, url.password, ...named].filter(({ length }) => length >= SECRET_LENGTH_MIN),
  };
}

/** Name of a table of the destination, quoted. */
export function tableAt(schema: string, table: string): string {
  return `${DESTINATION}.${quoted(schema)}.${quoted(table)}`;
}
