import type { FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import { PAGE_ROWS, PAGE_ROWS_MAX, type SqlQuestion } from '../../operations/sql/sql-service.ts';
import { jsonObjectOf } from '../http/json-body.ts';

/** Returns the question of a request body with `sql`, `id` and `rowsMax`. Throws `invalid_parameter`. */
export function questionOf(request: FastifyRequest): SqlQuestion & { readonly rowsMax: number } {
  const { sql, id, rowsMax = PAGE_ROWS } = bodyOf(request, ['sql', 'id', 'rowsMax']);
  if (typeof sql !== 'string') throw wrongProperty('sql', sql, 'a text with DuckDB SQL');
  if (id !== undefined && typeof id !== 'string') throw wrongProperty('id', id, 'a text');
  if (!Number.isInteger(rowsMax) || Number(rowsMax) < 1 || Number(rowsMax) > PAGE_ROWS_MAX) {
    throw wrongProperty('rowsMax', rowsMax, `a whole number from 1 to ${PAGE_ROWS_MAX}`);
  }
  return { sql, id, rowsMax: Number(rowsMax) };
}

/** Returns one text of a request body that has only this text. Throws `invalid_parameter`. */
export function textOf(request: FastifyRequest, name: 'sql' | 'name'): string {
  const text = bodyOf(request, [name])[name];
  if (typeof text !== 'string') throw wrongProperty(name, text, 'a text');
  return text;
}

/** Returns the ETag of If-Match, or `*`; undefined without the header. */
export function ifMatchOf({ headers }: FastifyRequest): string | undefined {
  const given = headers['if-match'];
  return given === undefined ? undefined : (/^"([^"]*)"$/.exec(given.trim())?.[1] ?? given.trim());
}

function bodyOf(request: FastifyRequest, names: readonly string[]): Record<string, unknown> {
  const parsed = jsonObjectOf(request);
  if (parsed === null) throw new SightlineError('invalid_parameter', 'the body is not a JSON object');
  const unknown = Object.keys(parsed).find((name) => !names.includes(name));
  if (unknown === undefined) return parsed;
  const allowed = names.join(', ');
  const message = `unknown property ${JSON.stringify(unknown.slice(0, 80))} of the body; allowed: ${allowed}`;
  throw new SightlineError('invalid_parameter', message, { parameter: unknown, allowed });
}

/** Returns the error of a property of a body with a value that is not allowed. */
export function wrongProperty(parameter: string, given: unknown, allowed: string): SightlineError {
  const shown = JSON.stringify(given)?.slice(0, 80) ?? 'missing';
  return new SightlineError('invalid_parameter', `${parameter} is ${shown}; allowed: ${allowed}`, {
    parameter,
    allowed,
  });
}
