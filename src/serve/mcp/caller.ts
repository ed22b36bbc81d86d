import { chooseName } from '../../base/choose-name.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import type { MetricsSource, Report } from '../../query/metrics/table-result.ts';
import { SCOPES, type Scope } from '../../session/stored-keys.ts';
import type { DataTool } from './data-tool.ts';
import { dataTools } from './data-tools/data-tools.ts';
import type { Served, ServedWorkspace } from './served.ts';

/** The scopes of a caller; default: all. */
interface Rights {
  readonly scopes?: readonly Scope[];
}

/** Returns whether the caller has a scope. */
export function mayUse(scope: Scope, { scopes = SCOPES }: Rights): boolean {
  return scopes.includes(scope);
}

/** Throws `forbidden` if the caller lacks a scope. */
export function requireScope(scope: Scope, rights: Rights): void {
  if (!mayUse(scope, rights)) throw new SightlineError('forbidden', `the key lacks the scope ${scope}`);
}

/** Returns whether a server has the data tools of a scope. */
export function isServed({ hasSql }: Served, scope: Scope): boolean {
  return scope !== 'sql' || hasSql;
}

/** Returns the data tools that the caller may use. */
export function visibleTools(served: Served, rights: Rights): readonly DataTool[] {
  return dataTools.filter(({ scope }) => mayUse(scope, rights) && isServed(served, scope));
}

/**
 * Returns the workspace that a call names; null if the server has only one workspace.
 *
 * @throws SightlineError `invalid_parameter` with the known names
 */
export function chosenWorkspace({ workspaces }: Served, given: string | null): string | null {
  if (workspaces === null) return null;
  const known = workspaces.join(', ');
  if (given === null) throw new SightlineError('invalid_parameter', `workspace is missing; allowed: ${known}`);
  try {
    return chooseName('workspace', given, workspaces);
  } catch (thrown) {
    throw new SightlineError('invalid_parameter', toSightlineError(thrown).message, { cause: thrown });
  }
}

/** Returns the newest replica of a workspace, limited to the brands of the caller. */
export async function sourceOf(
  { catalogue, clock }: Served,
  { service }: ServedWorkspace,
  signal: AbortSignal,
  report?: Report,
): Promise<MetricsSource> {
  const replica = await service.newest();
  const { allowedBrands } = replica;
  const brands = allowedBrands === null ? {} : { brands: [...allowedBrands] };
  return { replica, catalogue, nowMs: clock.now(), signal, ...brands, ...(report === undefined ? {} : { report }) };
}
