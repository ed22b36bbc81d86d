import { onTestFinished, type TestContext } from 'vitest';
import { NOT_TRIED } from './needs.ts';
import { type OwnPostgres, openPostgres, startPostgres, type TestPostgres } from './postgres.ts';

/** Opens an empty database on the shared server for the duration of a test, or skips the test. */
export async function postgresFor(context: TestContext): Promise<TestPostgres> {
  return kept(await openPostgres(), context);
}

/** Starts a server of its own for the duration of a test that stops it, or skips the test. */
export async function ownPostgresFor(context: TestContext): Promise<OwnPostgres> {
  return kept(await startPostgres(), context);
}

function kept<T extends TestPostgres>(opened: T | string, { skip }: TestContext): T {
  if (typeof opened === 'string') return skip(`${NOT_TRIED}there is no PostgreSQL: ${opened}`);
  onTestFinished(() => opened.close());
  return opened;
}
