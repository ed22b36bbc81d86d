import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import type { Ending } from '../base/ending.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { SetupProblem, SetupState, SetupTest } from '../web/page-data/setup-state.ts';
import type { Context } from '../workspace/workspace.ts';
import type { initializeWorkspace } from './initialize.ts';

/** Dependencies of a first run. */
export interface FirstRunParts {
  readonly workspace: string;
  /** Returns the user's current directory and the present environment, with the settings that were written. */
  surroundings(): Pick<Parameters<typeof initializeWorkspace>[0], 'folder' | 'environment'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Loads the workspace with the settings that were written. */
  open(): Context;
  /** Runs a sync of everything and logs it. Does not throw. */
  sync(context: Context): Promise<Ending>;
}

/** The setup of a workspace through a running server: as `init`, `plan` and `sync`, one after the other. */
export interface FirstRun {
  state(): SetupState;
  /** Returns the settings with those that the setup wrote; null if it wrote none. */
  written(): WorkspaceConfig | null;
  /**
   * Tests base URL and key with a request, and writes them if it succeeds.
   *
   * @throws `overloaded` during another test, and `invalid_parameter` if the workspace is configured already
   */
  test(given: { readonly baseUrl: string; readonly key: string }): Promise<SetupTest>;
  /** Begins to estimate the requests of the first sync, unless that is running. */
  estimate(): SetupState;
  /** Begins the first sync, unless one is running. */
  start(): SetupState;
  /** Stops what is running and resolves once it has ended. */
  close(): Promise<void>;
}

const IDLE = { state: 'none', problem: null } as const;

/** Creates the setup of a workspace. It remembers how its own steps ended until the process ends. Loads the modules of a sync late. */
export function createFirstRun(parts: FirstRunParts): FirstRun {
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signal, stop.signal]);
  const work = new Set<Promise<void>>();
  let estimate: SetupState['estimate'] = { ...IDLE, cost: null };
  let sync: SetupState['sync'] = IDLE;
  let isTesting = false;
  let written: WorkspaceConfig | null = null;

  const track = (task: Promise<void>): void => {
    work.add(task);
    void task.finally(() => work.delete(task));
  };
  const state: FirstRun['state'] = () => ({
    workspace: parts.workspace,
    ...configured(parts),
    estimate,
    sync,
  });
  const price = async (): Promise<void> => {
    try {
      const { estimateFirstSync } = await import('./initialize.ts');
      const cost = await estimateFirstSync({ ...parts.open(), signal });
      estimate = { state: 'done', cost, problem: null };
    } catch (thrown) {
      estimate = { state: 'failed', cost: null, problem: problemOf(thrown) };
    }
  };
  const run = async (): Promise<void> => {
    try {
      const { status, code, error } = await parts.sync({ ...parts.open(), signal });
      const isDone = status === 'done' || status === 'partial';
      const message = error ?? `the sync ended ${status}`;
      sync = isDone
        ? { state: 'done', problem: null }
        : { state: 'failed', problem: problemOf(new SightlineError(code ?? 'internal', message)) };
    } catch (thrown) {
      sync = { state: 'failed', problem: problemOf(thrown) };
    }
  };
  return {
    state,
    written: () => written,
    test: async (given) => {
      if (isTesting) throw new SightlineError('overloaded', 'a test of base URL and key is running; wait for its end');
      checkNotConfigured(parts);
      isTesting = true;
      try {
        const result = await testSettings(parts, given, signal);
        if (result.ok) written = parts.open().config;
        return result;
      } finally {
        isTesting = false;
      }
    },
    estimate: () => {
      if (estimate.state !== 'running') {
        estimate = { state: 'running', cost: null, problem: null };
        track(price());
      }
      return state();
    },
    start: () => {
      if (sync.state !== 'running') {
        sync = { state: 'running', problem: null };
        track(run());
      }
      return state();
    },
    close: async () => {
      stop.abort(new SightlineError('interrupted', 'stopped'));
      await Promise.all(work);
    },
  };
}

async function testSettings(
  parts: FirstRunParts,
  { baseUrl, key }: { readonly baseUrl: string; readonly key: string },
  signal: AbortSignal,
): Promise<SetupTest> {
  const { workspace, clock } = parts;
  const given = { workspace, baseUrl, key, dataDir: null, budgetShare: null, force: false, ...parts.surroundings() };
  try {
    const initialize = await import('./initialize.ts');
    const result = await initialize.initializeWorkspace(given, { clock, signal, replace: async () => false });
    const { brands, rateLimit, written } = result;
    return { ok: true, baseUrl: result.baseUrl, brands, rateLimit, written };
  } catch (thrown) {
    signal.throwIfAborted();
    return { ok: false, problem: problemOf(thrown, key) };
  }
}

function checkNotConfigured(parts: FirstRunParts): void {
  if (!configured(parts).isConfigured) return;
  throw new SightlineError('invalid_parameter', 'the workspace is configured already; change it with `sightline init`');
}

function configured({ open }: FirstRunParts): Pick<SetupState, 'isConfigured' | 'baseUrl'> {
  try {
    return { isConfigured: true, baseUrl: open().config.upstream().baseUrl };
  } catch {
    return { isConfigured: false, baseUrl: null };
  }
}

// An error may quote the value of a setting, so the key is removed from it.
function problemOf(thrown: unknown, key = ''): SetupProblem {
  const { code, message, hint: advice, facts } = toSightlineError(thrown);
  const { parameter } = facts;
  const field = parameter === 'baseUrl' || parameter === 'key' ? parameter : null;
  return { code, message: key === '' ? message : message.replaceAll(key, '…'), advice, field };
}
