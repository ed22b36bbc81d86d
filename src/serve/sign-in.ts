import { writeServerRecord } from '../session/server-record.ts';
import { createLink } from './auth/sessions.ts';

/** Signing in to a running server through its folder. */
export interface SignIn {
  /** Creates a sign-in link; null if there are no pages, or the folder cannot be written to. */
  signInUrl(): Promise<string | null>;
  /** Removes the record with which `sightline open` finds the server. */
  close(): Promise<void>;
}

/** Records the server in the folder, so that `sightline open` finds it. A folder that cannot be written to has no sign-in links. */
export async function openSignIn(
  folder: string | null,
  baseUrl: string,
  command: string,
  now: () => number,
): Promise<SignIn> {
  if (folder === null) return { signInUrl: async () => null, close: async () => undefined };
  const { origin } = new URL(baseUrl);
  const remove = await writeServerRecord(folder, origin, command).catch(() => async () => undefined);
  return {
    signInUrl: () =>
      createLink(folder, now()).then(
        (token) => `${origin}/sign-in#${token}`,
        () => null,
      ),
    close: remove,
  };
}
