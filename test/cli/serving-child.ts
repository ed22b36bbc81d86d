import { serveThrough } from './serving.ts';

const [from = '', to = '', folder = '', env = '{}'] = process.argv.slice(3);
await serveThrough({ folder, env: JSON.parse(env) as Record<string, string>, from, to });
