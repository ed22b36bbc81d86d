import { SightlineError } from '../base/errors.ts';
import { DamagedFile } from './errors.ts';
import { openReader, type Reader } from './reader.ts';
import { SCHEMA_VERSION } from './schema.ts';

/** SQL that reads the schema version of a warehouse or replica. */
export const READ_VERSION = "SELECT value FROM sync.meta WHERE name = 'schema_version'";

/**
 * Checks the schema version that a file or snapshot states. `path` is named in the errors.
 * @throws `warehouse_newer`, and `warehouse_invalid` for an older version or none
 */
export function checkSchemaVersion(path: string, stated: unknown): void {
  const version = Number(stated);
  if (version === SCHEMA_VERSION) return;
  if (!Number.isSafeInteger(version) || version < 1)
    throw new DamagedFile(path, `${path} is not a warehouse: it does not have a schema version`);
  const found = `${path} has schema version ${version}; this version of sightline reads version ${SCHEMA_VERSION}`;
  if (version > SCHEMA_VERSION) throw new SightlineError('warehouse_newer', found);
  throw new DamagedFile(path, found);
}

/** Opens a reader of a file of this schema version. @throws `warehouse_newer` and `warehouse_invalid` */
export async function openCurrentReader(path: string): Promise<Reader> {
  const reader = await openReader(path);
  try {
    const { rows } = await reader.query(READ_VERSION).catch((thrown: unknown) => {
      if (thrown instanceof DamagedFile) throw thrown;
      return { rows: [] };
    });
    checkSchemaVersion(path, rows[0]?.[0]);
    return reader;
  } catch (thrown) {
    reader.close();
    throw thrown;
  }
}
