// The engine that writes Iceberg's data files, in a process of its own: what its native code does to memory, or dies of, is
// not the parent's. It is told statements over the channel to its parent, answers each, and ends when that channel does.
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
