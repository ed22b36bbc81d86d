/** State of a step of the setup. */
type StepState = 'none' | 'running' | 'done' | 'failed';

/** An error that is shown to the person who sets up the workspace. */
export interface SetupProblem {
  readonly code: string;
  readonly message: string;
  /** Next step. */
  readonly advice: string;
  /** Field to change; null if another value of a field does not help. */
  readonly field: 'baseUrl' | 'key' | null;
}

/** State of the setup of a workspace. It never contains the API key. */
export interface SetupState {
  readonly workspace: string;
  /** Whether base URL and API key are configured. */
  readonly isConfigured: boolean;
  readonly baseUrl: string | null;
  readonly estimate: {
    readonly state: StepState;
    /** Requests of the first sync, and its duration in minutes; null unless `state` is `done`. */
    readonly cost: {
      readonly requests: number;
      readonly least: number;
      /** Null without an upper bound. */
      readonly most: number | null;
      readonly minutes: number;
    } | null;
    readonly problem: SetupProblem | null;
  };
  readonly sync: { readonly state: StepState; readonly problem: SetupProblem | null };
}

/** Result of a test of base URL and key. The settings are written only if it succeeded. */
export type SetupTest =
  | {
      readonly ok: true;
      readonly baseUrl: string;
      readonly brands: readonly string[];
      readonly rateLimit: number;
      readonly written: readonly string[];
    }
  | { readonly ok: false; readonly problem: SetupProblem };
