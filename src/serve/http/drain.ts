import type { Server } from 'node:http';

/** How often idle connections are closed while others are still active. */
const SWEEP_MS = 25;

/** Stops listening, waits for requests in progress, and closes the remaining connections after `drainMs`. */
export async function stopServer(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // A keep-alive connection becomes idle after its response and would stay open, so close idle ones repeatedly.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
