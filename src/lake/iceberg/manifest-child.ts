// Runs the engine that writes Iceberg data files in its own process, so that a crash or memory problem of its native
// code does not affect the parent. Receives SQL statements from the parent over the IPC channel, replies to each, and
// exits when the channel closes.
import { createRequire } from 'node:module';

interface Engine {
  query(sql: string): string;
}

const [enginePath = '', folder = ''] = process.argv.slice(2);
process.on('message', createAnswerer(enginePath, folder));

// Opens the engine at the first statement.
function createAnswerer(path: string, data: string): (sql: string) => void {
  let engine: Engine | null = null;
  return (sql) => {
    try {
      engine ??= openEngine(path, data);
      process.send?.({ result: engine.query(sql) });
    } catch (thrown) {
      process.send?.({ error: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  };
}

function openEngine(path: string, data: string): Engine {
  const { Session } = createRequire(path)('chdb') as { Session: new (folder: string) => Engine };
  return new Session(data);
}
