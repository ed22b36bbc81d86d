import { Writable } from 'node:stream';
import { EXIT, errorTable } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import type { Job, Step } from '../scheduler/job.ts';
import type { StepResult } from '../scheduler/run-job.ts';
import { commandContext, type WorkspaceFlags } from './context.ts';
import { HELD_HINT, heldText } from './output/held-text.ts';
import { plural, printData, reportError, say, size } from './output/output.ts';
import { withTerminal } from './output/terminal.ts';
import { toReported } from './reported.ts';

/** Longest result of a step that is read, in characters. */
const RESULT_CHARACTERS_MAX = 10_000_000;

/**
 * Runs a step of a job like the command of the same name. Does not throw. With `onResult` it runs with --json and passes the
 * parsed output to it instead of printing it.
 */
export async function performStep(
  job: Job,
  step: Step,
  flags: WorkspaceFlags,
  signal: AbortSignal,
  onResult?: (result: unknown) => void,
): Promise<StepResult> {
  const json = onResult !== undefined;
  const printed = json ? createCapture() : null;
  const run = async (): Promise<StepResult> => {
    try {
      const exitCode = await commandOf(job, step, { ...flags, json }, signal);
      return { exitCode, error: exitCode === EXIT.done ? null : (errorOf(printed?.text()) ?? null) };
    } catch (thrown) {
      const error = await toReported(thrown);
      reportError(error, json);
      return { exitCode: error.exit, error: error.message };
    }
  };
  const result = await (printed === null ? run() : withTerminal({ stdout: printed.stream }, run));
  onResult?.(parse(printed?.text()));
  return result;
}

async function commandOf(job: Job, step: Step, flags: WorkspaceFlags, signal: AbortSignal): Promise<number> {
  const { workspace, dataDir, json } = flags;
  const common = {
    ...(workspace === undefined ? {} : { workspace }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(json === undefined ? {} : { json }),
  };
  const context = () => commandContext(`jobs run ${job.name}`, common, signal);
  switch (step.do) {
    case 'sync': {
      const { maxRequests, maxMinutes } = step.allowance ?? {};
      return (await import('./commands/sync-command.ts')).sync(
        {
          ...common,
          ...(step.only === undefined ? {} : { only: step.only }),
          ...(step.full === undefined ? {} : { full: step.full }),
          ...(step.acceptDeletions === undefined ? {} : { acceptDeletions: step.acceptDeletions }),
          ...(maxRequests === undefined ? {} : { maxRequests: String(maxRequests) }),
          ...(maxMinutes === undefined ? {} : { maxMinutes: String(maxMinutes) }),
        },
        signal,
        job.name,
      );
    }
    case 'verify': {
      const { fresh = false, repair = false } = step;
      return (await import('./commands/verify-command.ts')).verify({ ...common, fresh, repair }, signal);
    }
    case 'export': {
      const held = await (await import('../operations/status.ts')).readHeld(context().config);
      if (held.length === 0) return (await import('./commands/export-command.ts')).exportCommand(common, signal);
      const message = `not exported: ${held.map(heldText).join('; ')}`;
      const error = { code: 'deletions_held', message, hint: HELD_HINT };
      end(json, { held, error }, `${message}\n${HELD_HINT}`);
      return EXIT.partial;
    }
    case 'report':
      return (await import('./commands/report-command.ts')).report({ ...common, weeks: String(step.weeks ?? 26) });
    case 'retention': {
      const deleted = await (await import('../operations/maintenance.ts')).retainSnapshots(context());
      return end(json, { deleted }, `${plural(deleted.length, 'older snapshot')} deleted.`);
    }
    case 'compact': {
      const { before, after } = await (await import('../operations/maintenance.ts')).compactWarehouse(context());
      const text =
        after < before ? `compacted to ${size(after)} from ${size(before)}` : `${size(before)}, already compact`;
      return end(json, { before, after }, `warehouse ${text}`);
    }
    case 'check': {
      const flaws = await (await import('../operations/maintenance.ts')).checkWarehouse(context());
      if (flaws.length === 0) return end(json, { flaws }, 'every key is unique, and every nested row has its parent');
      const lines = flaws.map(({ table, kind, count }) => `${table}: ${kind}, ${plural(count, 'time')}`);
      const error = { code: 'warehouse_invalid', message: lines.join('; '), hint: errorTable.warehouse_invalid.hint };
      end(json, { flaws, error }, lines.join('\n'));
      return EXIT.failed;
    }
  }
}

function end(json: boolean | undefined, result: unknown, text: string): number {
  if (json === true) printData(JSON.stringify(result));
  say(text);
  return EXIT.done;
}

function createCapture(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  let characters = 0;
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      characters += chunk.length;
      if (characters <= RESULT_CHARACTERS_MAX) chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return null;
  }
}

function errorOf(text: string | undefined): string | null {
  const result = parse(text);
  const error = isRecord(result) ? result['error'] : undefined;
  if (isRecord(error)) return String(error['message']);
  const failures = isRecord(result) && Array.isArray(result['failures']) ? result['failures'] : [];
  const [first] = failures as unknown[];
  if (isRecord(first)) return `${String(first['chain'])}: ${String(first['message'])}`;
  return isRecord(result) && typeof result['allowance'] === 'string' ? result['allowance'] : null;
}
