import { z } from 'zod';
import { readPostgresUrl } from './budget-settings.ts';
import { variableName } from './shared-schemas.ts';

const urlVariable = variableName('the name of the environment variable with the URL of the database');

const sharedFolder = z
  .boolean()
  .describe('true if all workers use one data folder of one machine, otherwise false')
  .optional()
  .meta({ about: 'if true, workspaces need no home', preset: false });

/** Schema of the `runner` setting in the configuration file. */
export const runnerSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z
        .literal('process')
        .meta({ about: 'process: the process that schedules the jobs; postgres: a queue that workers share' }),
    }),
    z.strictObject({ kind: z.literal('postgres'), urlVariable, sharedFolder }),
  ])
  .describe('an object with "kind": "process", or with "kind": "postgres", urlVariable and optionally sharedFolder');

/** A queue that workers on several machines share. `url` contains a password: never show, log or write it. */
export interface QueueAddress {
  readonly kind: 'postgres';
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
  return { kind, url: readPostgresUrl(variable, environment, folder), urlVariable: variable, sharedFolder };
}
