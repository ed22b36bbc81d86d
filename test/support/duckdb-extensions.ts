import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import duckdb, { DuckDBInstance } from '@duckdb/node-api';

const NAMES = ['ducklake', 'postgres_scanner', 'sqlite_scanner', 'mysql_scanner', 'avro', 'httpfs', 'iceberg'];
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/duckdb-extensions');
/** Unpacks the signed extension of a wheel: python program, wheel, target. */
const UNPACK = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith('.duckdb_extension'))
    with open(sys.argv[2], 'wb') as file:
        file.write(wheel.read(name))
`;

/**
 * Returns a folder with DuckDB's extensions for destinations, which the Python client fetches once per version of DuckDB, or the reason
 * why this machine has none.
 */
export async function fetchExtensions(): Promise<{ readonly folder: string } | string> {
  const version = duckdb.version();
  const folder = join(CACHE, version);
  const place = join(folder, version, await platform());
  if (NAMES.every((name) => existsSync(join(place, `${name}.duckdb_extension`)))) return { folder };
  try {
    mkdirSync(place, { recursive: true });
    const aside = mkdtempSync(join(folder, 'wheels-'));
    for (const name of NAMES.filter((one) => !existsSync(join(place, `${one}.duckdb_extension`)))) {
      const wheel = `duckdb-extension-${name.replaceAll('_', '-')}==${version.slice(1)}`;
      const options = [
        '--quiet',
        '--disable-pip-version-check',
        '--no-deps',
        '--only-binary',
        ':all:',
        '--dest',
        aside,
      ];
      execFileSync('python3', ['-m', 'pip', 'download', ...options, wheel], { stdio: 'pipe' });
      const file = readdirSync(aside).find((one) => one.startsWith(`duckdb_extension_${name}-`)) as string;
      execFileSync('python3', ['-c', UNPACK, join(aside, file), join(aside, name)], { stdio: 'pipe' });
      renameSync(join(aside, name), join(place, `${name}.duckdb_extension`));
    }
    rmSync(aside, { recursive: true, force: true });
    return { folder };
  } catch (thrown) {
    return `Python cannot fetch DuckDB's extensions: ${String((thrown as Error).message).split('\n')[0]}`;
  }
}

async function platform(): Promise<string> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll('PRAGMA platform');
  connection.closeSync();
  instance.closeSync();
  return String(reader.getRows()[0]?.[0]);
}
