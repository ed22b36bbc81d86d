import type { Server } from 'node:http';

/** How often connections that have come to rest are closed while others still work. */
const SWEEP_MS = 25;

/** Stops listening, waits until what is under way has been answered, and cuts off what is left after `drainMs`. */
export async function stopServer(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // A connection kept alive comes to rest once its request is answered, and would stay open for the next one.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
