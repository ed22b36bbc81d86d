// Runs the engine that writes Iceberg data files in its own process, so that a crash or memory problem of its native
// code does not affect the parent. Receives SQL statements from the parent over the IPC channel, replies to each, and
// exits when the channel closes.
import { createRequire } from 'node:module';

interface Engine {
  query(sql: string): string;
}

const [enginePath = '', folder = ''] = process.argv.slice(2);
let engine: Engine | null = null;

process.on('message', (sql: string) => {
  try {
    engine ??= open();
    process.send?.({ result: engine.query(sql) });
  } catch (thrown) {
    process.send?.({ error: thrown instanceof Error ? thrown.message : String(thrown) });
  }
});

function open(): Engine {
  const { Session } = createRequire(enginePath)('chdb') as { Session: new (path: string) => Engine };
  return new Session(folder);
}
