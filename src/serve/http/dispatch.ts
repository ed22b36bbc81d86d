import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Stay } from '../pool.ts';
import { writeError } from './refusal.ts';
import type { Site } from './site.ts';

/**
 * Dispatches requests to the site that `choose` returns, or to the server's own routes if it returns null. The server's limits apply to all sites.
 */
export function dispatch(
  app: FastifyInstance,
  choose: (request: IncomingMessage) => Promise<Stay<Pick<Site, 'app'>> | null>,
): void {
  const { server } = app;
  const [own] = server.listeners('request') as RequestListener[];
  if (own === undefined) throw new TypeError('the server has no request listener');
  // Pipelined responses that are still queued get no close event when their connection closes, so track them per
  // socket.
  const stays = new WeakMap<Socket, Set<() => void>>();
  server.on('connection', (socket: Socket) => {
    const leaving = new Set<() => void>();
    stays.set(socket, leaving);
    socket.once('close', () => {
      for (const leave of leaving) leave();
    });
  });
  const stayUntilAnswered = ({ leave }: Stay<unknown>, socket: Socket, response: ServerResponse): void => {
    const leaving = stays.get(socket);
    leaving?.add(leave);
    response.once('close', () => {
      leaving?.delete(leave);
      leave();
    });
  };
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse & { req: IncomingMessage }) => {
    const { socket } = request;
    choose(request).then(
      (stay) => {
        if (stay === null) return own(request, response);
        // The client disconnected while the workspace was being opened.
        if (response.destroyed || socket.destroyed) return stay.leave();
        stayUntilAnswered(stay, socket, response);
        (stay.member.app.routing as RequestListener)(request, response);
      },
      (thrown: unknown) => {
        const id = randomUUID();
        app.log.error({ id, err: thrown });
        // The rest of the request is not read.
        writeError(response.setHeader('Connection', 'close'), thrown, id);
      },
    );
  });
}
