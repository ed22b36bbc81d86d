import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readSecret } from './key-file.ts';
import { variableName } from './shared-schemas.ts';

const urlVariable = variableName('the name of the environment variable with the URL of the database');

/** Schema of the `budget` setting in the configuration file. */
export const budgetSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z
        .literal('file')
        .meta({ about: 'file: files of dataDir; postgres: a database that several machines share' }),
    }),
    z.strictObject({ kind: z.literal('postgres'), urlVariable }),
  ])
  .describe('an object with "kind": "file", or with "kind": "postgres" and urlVariable');

/** Connection URL and the name of its variable. The URL contains a password: messages name the variable, never the URL. */
export interface DatabaseAddress {
  readonly url: string;
  readonly urlVariable: string;
}

/** Storage of the request budgets. */
export type BudgetSettings = { readonly kind: 'file' } | ({ readonly kind: 'postgres' } & DatabaseAddress);

/**
 * Resolves the `budget` setting and reads the database URL from its variable.
 * @throws `config_invalid` naming the variable, never its value
 */
export function readBudgetSettings(
  given: z.infer<typeof budgetSchema> | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): BudgetSettings {
  if (given === undefined || given.kind === 'file') return { kind: 'file' };
  const { urlVariable: variable } = given;
  return { kind: 'postgres', url: readPostgresUrl(variable, environment, folder), urlVariable: variable };
}

type ReadUrl = (variable: string, environment: Readonly<Record<string, string | undefined>>, folder: string) => string;

/**
 * Reads and checks the PostgreSQL URL in the variable or in its `_FILE` file.
 * @throws `config_invalid` naming the variable, never its value
 */
export const readPostgresUrl: ReadUrl = (...from) =>
  readDatabaseUrl(from, {
    kind: 'a PostgreSQL database',
    form: /^postgres(ql)?:\/\/[^/]/,
    example: 'postgres://user:password@host:5432/name?sslmode=verify-full',
  });

/**
 * Reads and checks the URL of MySQL or MariaDB in the variable or in its `_FILE` file.
 * @throws `config_invalid` naming the variable, never its value
 */
export const readMysqlUrl: ReadUrl = (...from) =>
  readDatabaseUrl(from, {
    kind: 'a MySQL or MariaDB database',
    form: /^(mysql|mariadb):\/\/[^/]+\/[\w-]+(\?|$)/,
    example: 'mysql://user:password@host:3306/name?ssl-mode=verify_identity',
  });

function readDatabaseUrl(
  [variable, environment, folder]: Parameters<ReadUrl>,
  { kind, form, example }: { readonly kind: string; readonly form: RegExp; readonly example: string },
): string {
  const url = readSecret(variable, environment, folder)?.trim() ?? '';
  const allowed = `the URL of ${kind}, such as ${example}`;
  if (url === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isValid = parsed !== null && form.test(parsed.href) && parsed.hostname !== '';
  if (!isValid || ![parsed.username, parsed.password, parsed.pathname].every(isDecodable))
    throw new SightlineError('config_invalid', `${variable} is not the URL of ${kind}; allowed: ${allowed}`);
  return url;
}

/** True if the connection is unencrypted: the host is not loopback and the URL does not require TLS. */
export function isReadableOnTheWay(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  const mode =
    searchParams.get('sslmode') ??
    searchParams.get('ssl-mode') ??
    (searchParams.get('ssl') === 'true' ? 'require' : 'disable');
  return !isLoopback && /^(disabled?|allow|prefer(red)?)$/i.test(mode);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
