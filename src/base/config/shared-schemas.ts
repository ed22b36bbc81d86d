import { z } from 'zod';

/** The name of a workspace. */
export const workspaceName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
  .describe('lower-case letters, digits, - and _, at most 64');

/** Returns the schema of the name of an environment variable. Rejects a URL, key or secret that was pasted instead. */
export function variableName(about: string): z.ZodString {
  return z
    .string()
    .regex(/^(?!gsk_|whsec_)[A-Za-z_]\w*$/)
    .describe(about);
}
