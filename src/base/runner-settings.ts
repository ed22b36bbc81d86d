import { z } from 'zod';
import { readPostgresUrl } from './budget-settings.ts';
import { SightlineError } from './errors.ts';
import { readSecret } from './key-file.ts';

// An address in place of its variable's name is a mistake that suggests itself.
const urlVariable = z.string().regex(/^(?!gsk_)[A-Za-z_]\w*$/);

const sharedFolder = z.boolean().optional();

/** How `runner` stands in the file. */
export const runnerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('process') }),
  z.strictObject({ kind: z.literal('postgres'), urlVariable, sharedFolder }),
  z.strictObject({ kind: z.literal('redis'), urlVariable, sharedFolder }),
]);

/** What `runner` may be, in words. */
export const runnerAllowed =
  'an object with kind, which is process, postgres or redis, and with postgres or redis urlVariable and optionally sharedFolder';

/** Where a queue is that workers of any machine share. The address holds a password: it is never shown, logged or written. */
export interface QueueAddress {
  readonly kind: 'postgres' | 'redis';
  readonly url: string;
  readonly urlVariable: string;
}

/** Who runs jobs when they are due: the process that was started for it, or any worker of a queue. */
export type RunnerSettings = { readonly kind: 'process' } | QueueSettings;

/** A queue, and whether all its workers use one data folder of one machine, so that warehouses may be in it alone. */
export interface QueueSettings extends QueueAddress {
  readonly sharedFolder: boolean;
}

/** Reads the queue's address. Throws `config_invalid` with the variable's name, and never its value. */
export function readRunnerSettings(
  given: z.infer<typeof runnerSchema> | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): RunnerSettings {
  if (given === undefined || given.kind === 'process') return { kind: 'process' };
  const { kind, urlVariable: variable, sharedFolder = false } = given;
  if (kind === 'postgres')
    return { kind, url: readPostgresUrl(variable, environment, folder), urlVariable: variable, sharedFolder };
  const url = readSecret(variable, environment, folder)?.trim() ?? '';
  const allowed = 'the address of a Redis, such as rediss://user:password@host:6379';
  if (url === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '') {
    throw new SightlineError('config_invalid', `${variable} is not the address of a Redis; allowed: ${allowed}`);
  }
  return { kind, url, urlVariable: variable, sharedFolder };
}
