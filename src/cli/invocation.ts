import type { WorkspaceFlags } from './context.ts';

/** Runs a command and returns its exit code. */
export type Action = (signal: AbortSignal) => Promise<number>;

/** A parsed command line that the caller runs. */
export interface Invocation {
  readonly action: Action;
  readonly json: boolean;
  /** Set for a command that is forwarded to the owner of the workspace if there is one; otherwise null. */
  readonly forwardable: ForwardableCommand | null;
}

/** A command that the owner of the workspace may run. */
export interface ForwardableCommand {
  readonly flags: WorkspaceFlags;
  /** Whether the command writes to the warehouse, so that it fails if there is an owner that does not run it. */
  readonly needsWarehouse: boolean;
}

/** Called with the parsed command. */
export type Choose = (json: boolean, action: Action, forwardable?: ForwardableCommand) => void;

/** Parses a command line. Returns null if it was handled already, such as `--help`. Throws `usage`. */
export type Parse = (argv: readonly string[]) => Promise<Invocation | null>;
