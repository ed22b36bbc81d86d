import { readFile } from 'node:fs/promises';
import fastify from 'fastify';

// The Fastify baseline: one route that sends the bytes of a file as JSON.
const bytes = await readFile(process.argv[2] as string);
const app = fastify();
app.get('/', (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(bytes));
const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${address}\n`);
