import { SightlineError } from '../../base/errors.ts';
import type { Tool } from './tool.ts';

/** Greatest number of rows that can be skipped. */
const SKIP_MAX = 10_000_000;

/** A tool's arguments, in the form in which REST is asked. */
export interface ToolInput {
  /** Values of the path's parameters, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly given: URLSearchParams;
  /** Rows of the list to leave out from its start. */
  readonly skip: number;
}

/**
 * Reads a tool's arguments. What they are worth is checked where REST's are; here only what REST cannot be sent: a
 * missing path parameter, a value that is no scalar, a wrong `skip`. Throws `invalid_parameter`. Models send null for
 * what they leave out, so null is left out.
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
    if (path[name] === undefined) throw new SightlineError('invalid_parameter', `${name} must be given, a UUID`);
  }
  return { path, given, skip };
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const shown = JSON.stringify(value).slice(0, 80);
  throw new SightlineError('invalid_parameter', `${name} must be one text, number, true or false; got ${shown}`);
}

function toSkip(name: string, text: string): number {
  if (/^\d{1,8}$/.test(text) && Number(text) <= SKIP_MAX) return Number(text);
  const message = `${name} must be a whole number from 0 to ${SKIP_MAX}; got ${JSON.stringify(text.slice(0, 80))}`;
  throw new SightlineError('invalid_parameter', message);
}
