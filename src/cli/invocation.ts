/** Runs a command and returns its exit code. */
export type Action = (signal: AbortSignal) => Promise<number>;

/** A parsed command line that the caller runs. */
export interface Invocation {
  readonly action: Action;
  readonly json: boolean;
}

/** Called with the parsed command. */
export type Choose = (json: boolean, action: Action) => void;

/** Parses a command line. Returns null if it was handled already, such as `--help`. Throws `usage`. */
export type Parse = (argv: readonly string[]) => Promise<Invocation | null>;
