// A second program that tries to open databases for writing. Replies to each path with the result.
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
