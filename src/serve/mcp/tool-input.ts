import { SightlineError } from '../../base/errors.ts';
import type { Tool } from './tool.ts';

/** Maximum number of rows that can be skipped. */
const SKIP_MAX = 10_000_000;

/** A tool's arguments, converted to a REST request. */
export interface ToolInput {
  /** Values of the path parameters, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly given: URLSearchParams;
  /** Number of rows to skip at the start of the list. */
  readonly skip: number;
}

/**
 * Converts a tool's arguments. Values are validated by the service, like those of REST; here only what REST cannot
 * express: missing path parameters, values that are not scalars, and `skip`. Null arguments are ignored, because models
 * send null for arguments that they leave out.
 *
 * @throws SightlineError `invalid_parameter`
 */
export function readInput(tool: Tool, values: Readonly<Record<string, unknown>>): ToolInput {
  const path: Record<string, string> = {};
  const given = new URLSearchParams();
  let skip = 0;
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    const text = toText(name, value);
    if (tool.inPath.includes(name)) path[name] = text;
    else if (name === tool.skipName) skip = toSkip(name, text);
    else given.append(name, text);
  }
  for (const name of tool.inPath) {
    if (path[name] === undefined) throw new SightlineError('invalid_parameter', `${name} is missing; allowed: a UUID`);
  }
  return { path, given, skip };
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const shown = JSON.stringify(value).slice(0, 80);
  throw new SightlineError('invalid_parameter', `${name} must be a string, number or boolean; got ${shown}`);
}

function toSkip(name: string, text: string): number {
  if (/^\d{1,8}$/.test(text) && Number(text) <= SKIP_MAX) return Number(text);
  const message = `${name} must be a whole number from 0 to ${SKIP_MAX}; got ${JSON.stringify(text.slice(0, 80))}`;
  throw new SightlineError('invalid_parameter', message);
}
