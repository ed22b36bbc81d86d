import { SightlineError } from '../../base/errors.ts';

const HOW = {
  postgres: 'npm install bullmq@6 pg@8',
  redis: 'npm install bullmq@6 ioredis@5',
} as const;

/**
 * Loads a package that only a shared queue needs.
 * @throws `config_invalid` if it is not installed
 */
export async function loadPackage<T>(
  kind: keyof typeof HOW,
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
        `allowed: process, or ${kind} after ${HOW[kind]}`,
    );
  }
}
