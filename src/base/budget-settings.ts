import { z } from 'zod';
import { SightlineError } from './errors.ts';
import { readSecret } from './key-file.ts';

// An address in place of its variable's name is a mistake that suggests itself.
const urlVariable = z.string().regex(/^(?!gsk_)[A-Za-z_]\w*$/);

/** How `budget` stands in the file. */
export const budgetSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('file') }),
  z.strictObject({ kind: z.literal('postgres'), urlVariable }),
]);

/** What `budget` may be, in words. */
export const budgetAllowed = 'an object with kind, which is file or postgres, and with postgres urlVariable';

/** Where the budgets of keys are kept. The address holds a password: it is never shown, logged or written. */
export type BudgetSettings =
  | { readonly kind: 'file' }
  | { readonly kind: 'postgres'; readonly url: string; readonly urlVariable: string };

/** Reads the database's address. Throws `config_invalid` with the variable's name, and never its value. */
export function readBudgetSettings(
  given: z.infer<typeof budgetSchema> | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): BudgetSettings {
  if (given === undefined || given.kind === 'file') return { kind: 'file' };
  const { urlVariable: variable } = given;
  return { kind: 'postgres', url: readPostgresUrl(variable, environment, folder), urlVariable: variable };
}

/** The address of a PostgreSQL database that a variable holds. Throws `config_invalid` with the variable's name, and never its value. */
export function readPostgresUrl(
  variable: string,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): string {
  const url = readSecret(variable, environment, folder)?.trim() ?? '';
  const allowed =
    'the address of a PostgreSQL database, such as postgres://user:password@host:5432/name?sslmode=verify-full';
  if (url === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPostgres =
    parsed !== null && ['postgres:', 'postgresql:'].includes(parsed.protocol) && parsed.hostname !== '';
  if (!isPostgres || !isDecodable(parsed.password)) {
    throw new SightlineError('config_invalid', `${variable} is not the address of a database; allowed: ${allowed}`);
  }
  return url;
}

/** Whether what is said to the database can be read on the way: it leaves this machine, and the address asks for no TLS. */
export function isReadableOnTheWay(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  const mode = searchParams.get('sslmode') ?? (searchParams.get('ssl') === 'true' ? 'require' : 'disable');
  return !isLoopback && ['disable', 'allow', 'prefer'].includes(mode);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
