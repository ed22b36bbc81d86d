// Another program that wants to write to databases: told a path, it answers whether DuckDB let it.
import { DuckDBInstance } from '@duckdb/node-api';

process.on('message', async (path) => {
  try {
    const instance = await DuckDBInstance.create(path);
    instance.closeSync();
    process.send('opened');
  } catch (thrown) {
    process.send(/Could not set lock/.test(String(thrown)) ? 'refused' : String(thrown));
  }
});
