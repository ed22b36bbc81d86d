import { Writable } from 'node:stream';
import { jobsOf } from '../app/jobs.ts';
import { type Carry, claimWorkspace } from '../app/owner.ts';
import type { Greeting } from '../app/owner-frames.ts';
import { createTurns, type Turns } from '../app/turns.ts';
import { type Context, readOnlyCopies } from '../app/workspace.ts';
import { EXIT, hideKeys, SightlineError, toSightlineError } from '../base/errors.ts';
import { openBook } from '../scheduler/book.ts';
import type { Job } from '../scheduler/job.ts';
import { runJob } from '../scheduler/run-job.ts';
import { keepSchedule } from '../scheduler/schedule.ts';
import { LOG_LEVELS, type LogLevel } from '../serve/http/log.ts';
import type { WorkspaceFlags } from './context.ts';
import type { Parse } from './invocation.ts';
import { performStep } from './job-steps.ts';
import { say } from './output.ts';
import { runArguments } from './run-arguments.ts';
import { withTerminal } from './terminal.ts';

/** How a workspace is owned. */
export interface OwnerOptions {
  /** Whether jobs are run when they are due. */
  readonly runsJobs: boolean;
  /** Reads the command lines of others. */
  readonly parse: Parse;
  readonly logLevel: LogLevel;
  /** Takes the log, whole lines of JSON. */
  readonly log: (text: string) => void;
}

/** A workspace whose jobs this process runs and for which it carries out commands, unless another does. */
export interface Ownership {
  /** The other process, where there is one. */
  readonly owner: Greeting | null;
  /** Stops what is under way, and resolves once it has ended. */
  close(): Promise<void>;
}

type Log = (level: LogLevel, entry: Readonly<Record<string, unknown>>) => void;

/** Makes this process the owner of a workspace. Throws `folder_unwritable`. */
export async function ownWorkspace(
  { config, clock, command }: Context,
  flags: WorkspaceFlags,
  { runsJobs, parse, logLevel, log: write }: OwnerOptions,
): Promise<Ownership> {
  const stop = new AbortController();
  const turns = createTurns();
  const log: Log = (level, entry) => {
    if (LOG_LEVELS.indexOf(level) > LOG_LEVELS.indexOf(logLevel)) return;
    write(`${hideKeys(JSON.stringify({ level, time: new Date(clock.now()).toISOString(), ...entry }))}\n`);
  };
  const letBack = readOnlyCopies(config.folder);
  const claim = await claimWorkspace({
    folder: config.folder,
    command,
    since: new Date(clock.now()).toISOString(),
    carry: createCarry(parse, turns, stop.signal, log),
  });
  if (!claim.isOurs) {
    letBack();
    return { owner: claim.owner, close: async () => undefined };
  }
  const book = openBook(config.folder);
  const run = async (job: Job, dueMs: number): Promise<void> => {
    try {
      const signal = stop.signal;
      const perform = (step: Job['steps'][number]) => {
        const stderr = logOf((line) => log('info', { msg: line, job: job.name, step: step.do }));
        return withTerminal({ stderr, isCarried: true }, () => performStep(job, step, flags, signal, () => undefined));
      };
      const ended = await turns.take(`job ${job.name}`, signal, () => runJob(job, { clock, signal, dueMs, perform }));
      // What met another process's lock is tried again at the next look; each try in the book would push out what it is for.
      if (ended.status !== 'locked') await book.add(job, ended);
      const { status, dueAt, startedAt, steps } = ended;
      const level = status === 'failed' ? 'error' : status === 'done' ? 'info' : 'warn';
      log(level, { msg: `job ${job.name} ${status}`, job: job.name, dueAt, startedAt, steps });
    } catch (thrown) {
      if (!stop.signal.aborted) log('error', { msg: toSightlineError(thrown).message, job: job.name });
    }
  };
  const parts = { jobs: jobsOf(config), clock, signal: stop.signal, book, run };
  const kept = runsJobs ? keepSchedule(parts).catch((thrown) => log('error', { msg: String(thrown) })) : null;
  const close = async (): Promise<void> => {
    stop.abort(new SightlineError('interrupted', 'stopped'));
    await Promise.all([kept, claim.release()]);
    letBack();
  };
  return { owner: null, close };
}

function createCarry(parse: Parse, turns: Turns, stopped: AbortSignal, log: Log): Carry {
  return (command, output, cancelled) => {
    const signal = AbortSignal.any([stopped, cancelled]);
    const { arguments: argv, folder, environment } = command;
    return withTerminal({ ...output, isCarried: true, folder, environment }, async () => {
      const exitCode = await runArguments(parse, argv, async ({ action, carried }) => {
        if (carried === null) throw new SightlineError('usage', `${argv[0]} is not carried out for others`);
        if (!carried.needsWarehouse) return action(signal);
        const wait = (current: string): void => say(`Waiting for ${current}, which has the warehouse.`);
        return turns.take(`\`sightline ${argv[0]}\``, signal, () => action(signal), wait);
      });
      log(exitCode === EXIT.failed ? 'info' : 'debug', { msg: `sightline ${argv[0]} was carried out`, exitCode });
      return exitCode;
    });
  };
}

// Words for people become lines of the log; how progress was drawn does not.
function logOf(take: (line: string) => void): Writable {
  let rest = '';
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const lines = `${rest}${chunk.toString()}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') take(line);
      done();
    },
  });
}
