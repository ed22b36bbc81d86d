import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readPostgresUrl } from './budget-settings.ts';
import { readSecret } from './key-file.ts';
import { variableName } from './shared-schemas.ts';

const urlVariable = variableName('the name of the environment variable with the URL');

const sharedFolder = z
  .boolean()
  .describe('true if all workers use one data folder of one machine, otherwise false')
  .optional();

/** Schema of the `runner` setting in the configuration file. */
export const runnerSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('process') }),
    z.strictObject({ kind: z.literal('postgres'), urlVariable, sharedFolder }),
    z.strictObject({ kind: z.literal('redis'), urlVariable, sharedFolder }),
  ])
  .describe(
    'an object with "kind": "process", or with "kind": "postgres" or "redis", urlVariable and optionally sharedFolder',
  );

/** A queue that workers on several machines share. `url` contains a password: never show, log or write it. */
export interface QueueAddress {
  readonly kind: 'postgres' | 'redis';
  readonly url: string;
  readonly urlVariable: string;
}

/** Runner of due jobs: the process that schedules them, or the workers of a queue. */
export type RunnerSettings = { readonly kind: 'process' } | QueueSettings;

/** A queue. With `sharedFolder`, all workers use one data folder of one machine, so workspaces need no home. */
export interface QueueSettings extends QueueAddress {
  readonly sharedFolder: boolean;
}

/**
 * Resolves the `runner` setting and reads the queue's URL from its variable.
 * @throws `config_invalid` naming the variable, never its value
 */
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
  const allowed = 'the URL of a Redis server, such as rediss://user:password@host:6379';
  if (url === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '') {
    throw new SightlineError('config_invalid', `${variable} is not the URL of a Redis server; allowed: ${allowed}`);
  }
  return { kind, url, urlVariable: variable, sharedFolder };
}
