import type { Job } from 'bullmq';
import { z } from 'zod';
import type { Task } from '../runner.ts';
import type { TaskData } from './queue-connection.ts';

/** Farthest next run of a schedule: 29 February comes again within eight years. */
export const NEXT_MS_MAX = 9 * 366 * 24 * 3_600_000;
/** Characters of an invalid value that a message shows. */
const SHOWN_MAX = 80;
/** Largest time of a JavaScript Date, epoch milliseconds. */
const MOMENT_MAX = 8_640_000_000_000_000;

/** A task as BullMQ returns it. */
export type TaskJob = Job<TaskData, string, string>;

const dataSchema = z.object({
  workspace: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
  job: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
});
const allowed: Readonly<Record<string, string>> = {
  workspace: 'lower-case letters, digits, - and _, at most 64',
  job: 'lower-case letters, digits and -, at most 64',
};

/**
 * Validates a task from the queue, because anyone with write access to the database may have added it. Throws an error
 * that names the task and the invalid value.
 */
export function toTask(given: TaskJob, nowMs: number): Task {
  const { id = '', data, attemptsStarted, repeatJobKey, opts } = given;
  const refuse = (what: string, value: unknown, may: string): Error =>
    new Error(`task ${show(id)} of the queue is invalid: ${what} is ${show(value)}; allowed: ${may}`);
  const parsed = dataSchema.safeParse(data);
  if (!parsed.success) {
    const [field] = parsed.error.issues[0]?.path ?? [];
    const name = String(field ?? 'data');
    const value = field === undefined ? data : (data as unknown as Record<PropertyKey, unknown>)[field];
    throw refuse(name, value, allowed[name] ?? 'an object with workspace and job');
  }
  const dueMs = repeatJobKey === undefined ? null : (opts.prevMillis ?? null);
  if (dueMs !== null && !(isMoment(dueMs) && dueMs <= nowMs + NEXT_MS_MAX)) {
    throw refuse('the time at which it was due', dueMs, 'epoch milliseconds, within nine years');
  }
  const attempt = Number.isSafeInteger(attemptsStarted) ? Math.max(1, attemptsStarted) : 1;
  return { ...parsed.data, id, dueMs, attempt };
}

/** Returns the workspace and job of a task for display; null if they are invalid. */
export function namesOf({ data }: TaskJob): TaskData | null {
  const parsed = dataSchema.safeParse(data);
  return parsed.success ? parsed.data : null;
}

/** Reports whether a value is a time in epoch milliseconds that a Date can represent. */
export function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MOMENT_MAX;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'not set';
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
