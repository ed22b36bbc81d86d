import { existsSync } from 'node:fs';
import type { DestinationTarget } from '../base/config/destination-settings.ts';
import { literal, quoted } from '../warehouse/schema.ts';

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
}

/** Schema of the loaded tables. */
const SCHEMA = 'sightline';
/** PostgreSQL allows no character NUL in texts; this is its symbol. */
const NUL_SYMBOL = '\u2400';
/** Shorter texts also occur in words. */
const SECRET_LENGTH_MIN = 4;
const POSTGRES_SECRET = 'destination_postgres';

/** Returns how to attach a destination. */
export function attachmentOf(target: DestinationTarget): Attachment {
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
        schema: SCHEMA,
        hasKeys: true,
        inDestination: (sql) => `CALL postgres_execute('${DESTINATION}', ${literal(sql)})`,
        hasComments: true,
      };
    }
    case 'ducklake':
      return { ...lakeAttachment(target), schema: SCHEMA, hasKeys: false, inDestination: null, hasComments: true };
    case 'sqlite':
      return {
        extensions: ['sqlite_scanner'],
        statements: [`ATTACH ${literal(target.path)} AS ${DESTINATION} (TYPE sqlite)`],
        secrets: [],
        // SQLite has one schema.
        schema: 'main',
        hasKeys: true,
        inDestination: null,
        hasComments: false,
      };
    case 'duckdb':
      return {
        extensions: [],
        statements: [
          `ATTACH ${literal(target.path)} AS ${DESTINATION}${existsSync(target.path) ? '' : " (STORAGE_VERSION 'v1.0.0')"}`,
        ],
        secrets: [],
        schema: SCHEMA,
        hasKeys: false,
        inDestination: null,
        hasComments: true,
      };
  }
}

function lakeAttachment({
  catalog,
  data,
}: Extract<DestinationTarget, { kind: 'ducklake' }>): Pick<Attachment, 'extensions' | 'statements' | 'secrets'> {
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
      `ATTACH 'ducklake:destination_lake' AS ${DESTINATION}`,
    ],
    secrets,
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
  const options = [...url.searchParams].map(([name, value]) => `${name}='${value.replace(/[\\']/g, '\\$&')}'`);
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
