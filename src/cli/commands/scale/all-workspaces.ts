import PQueue from 'p-queue';
import { worstExitCode } from '../../../base/ending.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { validConfigs } from '../../../operations/cluster/workspace-list.ts';
import type { Context } from '../../../workspace/workspace.ts';
import { readAllConfigs } from '../../checked-config.ts';
import { contextOf, type WorkspaceFlags } from '../../context.ts';
import { count, duration, errorJson, plural, printValue, say } from '../../output/output.ts';
import { toReported } from '../../reported.ts';

/** A command that runs for every configured workspace. */
interface ForAll<T> {
  readonly command: 'sync --all' | 'export --all' | 'load --all';
  /** Words for the workspaces that succeeded, and for the failed ones. */
  readonly words: readonly [done: string, failed: string];
  /** Workspaces that run in parallel; default: 1. */
  readonly parallel?: number;
  run(context: Context): Promise<T>;
  /** Prints a result as text; returns its JSON form and its exit code. */
  show(workspace: string, result: T): Promise<readonly [json: object, exit: number]>;
  /** Called with each result, or the error that prevented it. */
  onEnd?(context: Context, result: T | SightlineError): void;
}

/**
 * Runs a command for every configured workspace and returns the most severe exit code. Workspaces with the same API key share a budget
 * and run one after another. Prints one JSON line for each workspace with `--json`.
 */
export async function runForAll<T>(
  flags: WorkspaceFlags,
  signal: AbortSignal,
  { command, words: [done, failed], parallel = 1, run, show, onEnd }: ForAll<T>,
): Promise<number> {
  const startedAt = performance.now();
  const codes: number[] = [];
  const end = (workspace: string, json: object, exit: number): void => {
    if (flags.json === true) printValue({ workspace, ...json });
    codes.push(exit);
  };
  const fail = (workspace: string, error: SightlineError): void => {
    end(workspace, errorJson(error), error.exit);
    say(`${workspace}: ${error.message}\n${workspace}: ${error.hint}`);
  };
  const perform = async (context: Context): Promise<void> => {
    const { name } = context.config;
    const result = await attempt(context, run);
    try {
      if (result instanceof SightlineError) fail(name, result);
      else end(name, ...(await show(name, result)));
    } catch (thrown) {
      fail(name, await toReported(thrown));
    }
    onEnd?.(context, result);
  };
  const configured = readAllConfigs(flags);
  for (const one of configured) if ('error' in one) fail(one.name, one.error);
  const contexts = validConfigs(configured).map((config) => contextOf(command, config, signal));
  const queue = new PQueue({ concurrency: parallel });
  await queue.addAll(
    groupByBudget(contexts).map((group) => async () => {
      for (const context of group) await perform(context);
    }),
  );
  const of = (...wanted: number[]): number => codes.filter((code) => wanted.includes(code)).length;
  const numbers = [
    [of(EXIT.partial), 'partial'],
    [codes.length - of(EXIT.done, EXIT.partial), failed],
  ] as const;
  const others = numbers.flatMap(([number, word]) => (number === 0 ? [] : [`, ${count(number)} ${word}`]));
  const took = duration(performance.now() - startedAt);
  say(`${plural(codes.length, 'workspace')} in ${took}: ${count(of(EXIT.done))} ${done}${others.join('')}`);
  return worstExitCode(codes) ?? EXIT.done;
}

async function attempt<T>(context: Context, run: ForAll<T>['run']): Promise<T | SightlineError> {
  const { signal } = context;
  try {
    signal.throwIfAborted();
    return await run(context);
  } catch (thrown) {
    return signal.aborted ? new SightlineError('interrupted', 'the command was stopped') : toReported(thrown);
  }
}

function groupByBudget(contexts: readonly Context[]): Context[][] {
  const groups = new Map<string, Context[]>();
  for (const context of contexts) {
    const budget = budgetOf(context);
    groups.set(budget, [...(groups.get(budget) ?? []), context]);
  }
  return [...groups.values()];
}

// A workspace without a usable key forms its own group; its sync reports the error.
function budgetOf({ config }: Context): string {
  try {
    return config.upstream().key;
  } catch {
    return config.name;
  }
}
