import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { MART_SCHEMA, marts } from '../../src/metrics/marts/marts.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';

/**
 * Creates a warehouse with the tables of the catalogue, and with the marts if requested, and without rows. It copies one that is made once
 * per version of the code, because creating the tables takes five times as long as opening them.
 */
export async function createEmptyWarehouse(path: string, { hasMarts = false } = {}): Promise<void> {
  const made = join(process.env['TEST_WORLDS'] ?? '', hasMarts ? 'empty-with-marts.duckdb' : 'empty.duckdb');
  if (!existsSync(made)) {
    const own = `${made}-${randomUUID()}`;
    const { database, close } = await openWarehouse(own, createCatalogue(declarations), {});
    if (hasMarts) await ensureViews(database, MART_SCHEMA, marts());
    await close();
    await rename(own, made);
  }
  await copyFile(made, path);
  // As commands create it.
  await chmod(path, 0o600);
}
