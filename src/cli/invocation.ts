import type { WorkspaceFlags } from './context.ts';

/** Runs a command and gives its exit code. */
export type Action = (signal: AbortSignal) => Promise<number>;

/** What the command line asks for, to be run by the caller. */
export interface Invocation {
  readonly action: Action;
  readonly json: boolean;
  /** Set for what the process that owns the workspace carries out, where there is one. */
  readonly carried: CarriedInvocation | null;
}

/** A command that another process may carry out. */
export interface CarriedInvocation {
  readonly flags: WorkspaceFlags;
  /** Whether it waits until nothing else has the warehouse. */
  readonly needsWarehouse: boolean;
}

/** Told what was asked for. */
export type Choose = (json: boolean, action: Action, carried?: CarriedInvocation) => void;

/** Reads a command line; null when what it asks for was done. Throws `usage`. */
export type Parse = (argv: readonly string[]) => Promise<Invocation | null>;
