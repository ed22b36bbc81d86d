import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { readText } from './config-file.ts';

/**
 * Returns the variables of `.env` in `folder`, overridden by `variables`, the environment of the process by default.
 * No other function reads the environment for settings.
 * @throws `config_invalid` if `.env` cannot be read
 */
export function readEnvironment(
  folder: string,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  return { ...parseEnv(readText(join(folder, '.env')) ?? ''), ...variables };
}

/** Returns the text of a variable; undefined if it is empty. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}

/**
 * Suppresses the AWS SDK's warning that its future versions need a newer Node. The warning is for developers who update the
 * package, not for the operator. A variable that is already set is not overwritten.
 */
export function quietStoreClient(): void {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
}
