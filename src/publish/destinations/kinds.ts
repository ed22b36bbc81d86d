import { existsSync } from 'node:fs';
import type { DestinationTarget } from '../../base/config/destination-settings.ts';
import { INSTANT, literal, quoted, type StoredKind, sqlTypes } from '../../warehouse/schema.ts';
import { commentsOn, DESTINATION, type OwnSql } from './own-sql.ts';

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
  /** SQL of the destination for what DuckDB's statements cannot do; null if they do everything. */
  readonly own: OwnSql | null;
  /** Whether tables and columns can have comments. */
  readonly hasComments: boolean;
  /** Whether numbers can be NaN or infinite; otherwise these are stored as null. */
  readonly hasNan: boolean;
  /** Types of columns by the kind of their values; `name` is a text in a primary key. */
  readonly types: Readonly<Record<StoredKind | 'name', string>>;
  /** Whether tables are created and altered before the transaction, because they cannot be in it. */
  readonly isStepwise: boolean;
  /** Whether a load locks the row of its workspace first, because the database lets two loads commit that have read the same one. */
  readonly locksPosition: boolean;
  /** Query of the columns in some schemas: schema, table, column, and its type as DuckDB names it; default: by DuckDB, in all schemas. */
  readonly columns?: (schemas: readonly string[]) => string;
  /** Whether the transaction may end with some of its tables written: the identity of the data is then written after it. */
  readonly commitsApart: boolean;
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
const MYSQL_SECRET = 'destination_mysql';
const CATALOG_SECRET = 'destination_catalog';
const TYPES = { ...sqlTypes, timestamp: INSTANT, name: sqlTypes.text };
/** What most kinds have. */
const USUAL = {
  ...{ schema: SCHEMA, own: null, hasComments: true, hasNan: true, types: TYPES },
  ...{ isStepwise: false, locksPosition: false, commitsApart: false },
} as const;

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
        types: { ...TYPES, number: 'DOUBLE PRECISION' },
        own: {
          run: (sql) => `CALL postgres_execute('${DESTINATION}', ${literal(sql)})`,
          ...{ forget: 'CALL pg_clear_cache()', quoted, options: null, describe: commentsOn, describesTypes: false },
        },
        requirement: {
          sql: `SELECT * FROM postgres_query('${DESTINATION}', 'SELECT current_setting(''server_encoding'') AS encoding')`,
          value: 'UTF8',
          problem: 'the encoding of the database must be UTF8; it is',
        },
      };
    }
    case 'mysql':
      return mysqlAttachment(target.url);
    case 'ducklake':
      return { ...lakeAttachment(target, creates), ...USUAL, hasKeys: false };
    case 'iceberg':
      return {
        ...catalogAttachment(target),
        ...USUAL,
        hasKeys: false,
        hasComments: false,
        types: { ...TYPES, json: TYPES.text },
        isStepwise: true,
        commitsApart: true,
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
  if ('path' in target) return target.path;
  return target.kind === 'ducklake' && 'path' in target.catalog ? target.catalog.path : null;
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

/**
 * A database of MySQL or MariaDB. A statement about tables ends its transactions. Default types and collations of the server are not
 * used, because they truncate texts and fractions of seconds, and find equal keys that differ.
 */
function mysqlAttachment(text: string): Attachment {
  const url = new URL(text);
  const { secret, secrets } = secretOf(url, { name: MYSQL_SECRET, type: 'mysql', port: '3306' });
  const options = [...url.searchParams].map(
    ([name, value]) => `${name.replaceAll('-', '_')}="${value.replace(/[\\"]/g, '\\$&')}"`,
  );
  const own = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
  const told = (value: string): string => literal(value).replaceAll('\\', '\\\\');
  const types = {
    ...TYPES,
    ...{ name: 'varchar(255)', uuid: 'char(36) CHARACTER SET ascii COLLATE ascii_bin', text: 'longtext' },
    ...{ json: 'longtext', timestamp: 'datetime(6)' },
  };
  // Without CONVERT, names in a binary collation are BLOBs.
  const columnsIn = (schema: string): string =>
    `SELECT ${told(schema)}, CONVERT(table_name USING utf8mb4), CONVERT(column_name USING utf8mb4),
       CONVERT(CASE data_type WHEN 'longtext' THEN 'VARCHAR' WHEN 'char' THEN 'UUID' WHEN 'tinyint' THEN 'BOOLEAN'
         WHEN 'datetime' THEN 'TIMESTAMP WITH TIME ZONE' ELSE upper(data_type) END USING utf8mb4)
     FROM information_schema.columns WHERE table_schema = ${told(schema)}`;
  const query = (sql: string): string => `SELECT * FROM mysql_query('${DESTINATION}', ${literal(sql)})`;
  return {
    ...USUAL,
    extensions: ['mysql_scanner'],
    statements: [secret, `ATTACH ${literal(options.join(' '))} AS ${DESTINATION} (TYPE mysql, SECRET ${MYSQL_SECRET})`],
    secrets,
    schema: url.pathname.slice(1),
    types,
    ...{ hasKeys: true, hasNan: false, isStepwise: true, locksPosition: true },
    own: {
      run: (sql) => `CALL mysql_execute('${DESTINATION}', ${literal(sql)})`,
      ...{ forget: 'CALL mysql_clear_cache()', quoted: own, describesTypes: true },
      options: 'ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
      describe: (table, about, columns) =>
        [
          `ALTER TABLE ${table} COMMENT = ${told(about)}`,
          ...columns.map((one) => `MODIFY ${own(one.name)} ${types[one.kind]} COMMENT ${told(one.about)}`),
        ].join(', '),
    },
    columns: (schemas) => query(schemas.map(columnsIn).join(' UNION ALL ')),
    requirement: {
      sql: query(
        `SELECT IF(@@sql_mode LIKE '%STRICT_TRANS_TABLES%' AND @@sql_mode NOT REGEXP 'NO_BACKSLASH_ESCAPES|EMPTY_STRING_IS_NULL',
           'exact', @@sql_mode) AS mode`,
      ),
      value: 'exact',
      problem:
        'the SQL mode must have STRICT_TRANS_TABLES, without NO_BACKSLASH_ESCAPES and EMPTY_STRING_IS_NULL; it is',
    },
  };
}

function postgresSecret(text: string): { secret: string; options: string; secrets: string[] } {
  const url = new URL(text);
  const options = [...url.searchParams].map(([name, value]) => {
    // The libraries of PostgreSQL for JavaScript know `ssl`, libpq does not.
    const [own, given] = name === 'ssl' ? ['sslmode', value === 'true' ? 'require' : 'disable'] : [name, value];
    return `${own}='${given.replace(/[\\']/g, '\\$&')}'`;
  });
  return {
    ...secretOf(url, { name: POSTGRES_SECRET, type: 'postgres', port: '5432' }),
    options: options.join(' '),
  };
}

// The password is in a secret, because messages about failed connections contain the text of ATTACH.
function secretOf(
  url: URL,
  { name, type, port }: { readonly name: string; readonly type: string; readonly port: string },
): { secret: string; secrets: string[] } {
  const password = decodeURIComponent(url.password);
  const parts = {
    HOST: url.hostname.replace(/^\[|\]$/g, ''),
    PORT: url.port === '' ? port : url.port,
    DATABASE: decodeURIComponent(url.pathname.slice(1)),
    USER: decodeURIComponent(url.username),
    PASSWORD: password,
  };
  const members = Object.entries(parts).filter(([, value]) => value !== '');
  const named = [...url.searchParams].flatMap(([key, value]) => (/pass/i.test(key) ? [value] : []));
  return {
    secret: `CREATE SECRET ${name} (TYPE ${type}, ${members.map(([key, value]) => `${key} ${literal(value)}`).join(', ')})`,
    secrets: [password, url.password, ...named].filter(({ length }) => length >= SECRET_LENGTH_MIN),
  };
}

/** Name of a table of the destination, quoted. */
export function tableAt(schema: string, table: string): string {
  return `${DESTINATION}.${quoted(schema)}.${quoted(table)}`;
}
