import { SightlineError } from '../../../base/errors.ts';
import type { ToolShape } from './tool.ts';

/** Maximum number of rows that can be skipped. */
const SKIP_MAX = 10_000_000;

/** Bounds of the estimated tokens of a result. Clients cut or reject results of more than about 25,000 tokens. */
export const RESULT_TOKENS = { least: 1_000, standard: 8_000, most: 20_000 } as const;

/** A tool's arguments, converted to a REST request. */
export interface ToolInput {
  /** Values of the path parameters, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly given: URLSearchParams;
  /** Number of rows to skip at the start of the list. */
  readonly skip: number;
  /** Maximum number of estimated tokens of the result; null if not given. */
  readonly maxTokens: number | null;
  /** Whether rows stay objects. */
  readonly isPlain: boolean;
  readonly workspace: string | null;
}

/**
 * Converts a tool's arguments. The service validates values like those of REST. This function validates only errors that a REST request
 * cannot have: missing path parameters, values that are not scalars, and the arguments that REST does not have. Null arguments are
 * ignored, because models send null for arguments that they leave out.
 *
 * @throws SightlineError `invalid_parameter`
 */
export function readInput({ inPath, own }: ToolShape, values: Readonly<Record<string, unknown>>): ToolInput {
  const path: Record<string, string> = {};
  const given = new URLSearchParams();
  const mine = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    const text = toText(name, value);
    if (inPath.includes(name)) path[name] = text;
    else if (own.some((known) => known === name)) mine.set(name, text);
    else given.append(name, text);
  }
  for (const name of inPath) {
    if (path[name] === undefined) throw new SightlineError('invalid_parameter', `${name} is missing; allowed: a UUID`);
  }
  const { least, most } = RESULT_TOKENS;
  return {
    path,
    given,
    skip: toInteger('skip', mine.get('skip') ?? '0', 0, SKIP_MAX),
    maxTokens: mine.has('maxTokens') ? toInteger('maxTokens', mine.get('maxTokens') ?? '', least, most) : null,
    isPlain: toFlag('plain', mine.get('plain') ?? 'false'),
    workspace: mine.get('workspace') ?? null,
  };
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const shown = JSON.stringify(value).slice(0, 80);
  throw new SightlineError('invalid_parameter', `${name} must be a string, number or boolean; got ${shown}`);
}

function toInteger(name: string, text: string, least: number, most: number): number {
  if (/^\d{1,8}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw refused(name, text, `a whole number from ${least} to ${most}`);
}

function toFlag(name: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw refused(name, text, 'true or false');
}

function refused(name: string, text: string, allowed: string): SightlineError {
  return new SightlineError(
    'invalid_parameter',
    `${name} must be ${allowed}; got ${JSON.stringify(text.slice(0, 80))}`,
  );
}
