import { SightlineError } from '../../base/errors.ts';
import { installLine } from '../../base/optional-packages.ts';

const USES = { postgres: 'queue in PostgreSQL', redis: 'queue in Redis' } as const;

/**
 * Loads a package that only a shared queue needs.
 * @throws `config_invalid` if it is not installed
 */
export async function loadPackage<T>(
  kind: keyof typeof USES,
  name: string,
  version: string,
  importIt: () => Promise<T>,
): Promise<T> {
  try {
    return await importIt();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw thrown;
    throw new SightlineError(
      'config_invalid',
      `runner.kind is "${kind}", but the package ${name} (version ${version}) is not installed; ` +
        `allowed: process, or ${kind} after \`${installLine(USES[kind])}\``,
    );
  }
}
