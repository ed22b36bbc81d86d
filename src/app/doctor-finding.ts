import type { Layout } from '../snapshot/layout.ts';
import type { Context } from './workspace.ts';

/** How bad what was found is, from good to bad. */
export const VERDICTS = ['ok', 'warning', 'failure'] as const;

/** What a check found; `advice` is what to do about it, `fixed` that it was bad and is not any more. */
export interface Finding {
  readonly status: (typeof VERDICTS)[number];
  readonly message: string;
  readonly advice?: string;
  readonly fixed?: boolean;
}

/** What is looked at, and what may be done about it. */
export interface Patient {
  readonly context: Context;
  readonly layout: Layout;
  /** The folder in which the command was given, where `.env` is. */
  readonly folder: string;
  /** Whether upstream is left alone. */
  readonly isOffline: boolean;
  /** Whether what is safe to be put right is put right. */
  readonly fix: boolean;
  /** The process that owns the warehouse or serves the workspace now, in words; null where none does. */
  readonly owner: string | null;
}

/** Whether a process lives. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** `3 files`, `1 file`. */
export function counted(value: number, noun: string): string {
  return `${value.toLocaleString('en-US')} ${noun}${value === 1 ? '' : 's'}`;
}
