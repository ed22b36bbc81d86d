import { z } from 'zod';
import { number, time } from '../../contract/operation/json-parts.ts';
import { listedKey } from '../../serve/auth/keys.ts';

/** `init`. */
export const init = z.object({
  workspace: z.string(),
  baseUrl: z.string(),
  brands: z.array(z.string()).describe('names of the brands that the key can read'),
  rateLimit: z.number().describe('requests per minute'),
  written: z.array(z.string()).describe('changed files'),
  plan: z
    .object({ requests: number, least: number, most: number.nullable(), minutes: z.number() })
    .nullable()
    .describe('estimate of the first sync'),
});

const signInUrl = z.string().nullable();
const addresses = { baseUrl: z.string(), mcpUrl: z.string(), metricsUrl: z.string().nullable() };

/** `serve`. */
export const serve = z.object({
  ...addresses,
  pageUrl: z.string().nullable(),
  statusUrl: z.string().nullable(),
  signInUrl: signInUrl.describe('a link that signs a browser in, once, within 10 minutes; null without pages'),
});

/** `serve --role api`. */
export const serveApi = z.object({
  ...addresses,
  pageUrl: z.string().nullable(),
  signInUrl,
  workspaces: number,
  keys: number,
});

/** `sandbox`. */
export const sandbox = z.object({ baseUrl: z.string(), key: z.string() });

/** `keys create`. */
export const newKey = z.object({ ...listedKey.shape, key: z.string().describe('the key, which is not stored') });

/** `keys list`. */
export const keys = z.array(z.object({ ...listedKey.shape, expired: z.boolean() }));

/** `open`. */
export const open = z.object({ url: z.string().describe('the sign-in link') });

/** `sessions list`. */
export const sessions = z.array(
  z.object({
    id: z.string(),
    createdAt: time,
    usedAt: time,
    userAgent: z.string(),
    key: z.string().nullable().describe('name of the key that signed in; null for a sign-in link'),
  }),
);

/** `sessions revoke`. */
export const endedSession = z.object({ id: z.string() });

/** `worker`. */
export const worker = z.object({
  worker: z.string(),
  tasks: z.record(z.string(), number).describe('number of tasks by how they ended'),
});

/** `cluster enqueue`. */
export const clusterEnqueue = z.object({ job: z.string(), workspaces: number, enqueued: number, waiting: number });
