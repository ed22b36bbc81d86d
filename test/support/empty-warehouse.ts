import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';

/**
 * Creates a warehouse with the tables of the catalogue and without rows. It copies one that is made once per version of the code, because
 * creating the tables takes five times as long as opening them.
 */
export async function createEmptyWarehouse(path: string): Promise<void> {
  const made = join(process.env['TEST_WORLDS'] ?? '', 'empty.duckdb');
  if (!existsSync(made)) {
    const own = `${made}-${randomUUID()}`;
    await (await openWarehouse(own, createCatalogue(declarations), {})).close();
    await rename(own, made);
  }
  await copyFile(made, path);
  // As commands create it.
  await chmod(path, 0o600);
}
