import type { Layout } from '../../publish/snapshot/layout.ts';
import type { Context } from '../../workspace/workspace.ts';

/** Severities from good to bad. */
export const VERDICTS = ['ok', 'warning', 'failure'] as const;

/** Result of a check. `advice` is the next step; `fixed` is true if the problem was repaired. */
export interface Finding {
  readonly status: (typeof VERDICTS)[number];
  readonly message: string;
  readonly advice?: string;
  readonly fixed?: boolean;
}

/** The workspace to check, and the options of the check. */
export interface CheckContext {
  readonly context: Context;
  readonly layout: Layout;
  /** The user's current directory, which contains `.env`. */
  readonly folder: string;
  /** Whether requests to upstream, object stores and homes are skipped. */
  readonly isOffline: boolean;
  /** Whether problems that are safe to repair are repaired. */
  readonly fix: boolean;
  /** Description of the process that owns the warehouse or serves the workspace; null if there is none. */
  readonly owner: string | null;
}

/** `3 files`, `1 file`. */
export function counted(value: number, noun: string): string {
  return `${value.toLocaleString('en-US')} ${noun}${value === 1 ? '' : 's'}`;
}
