// @ts-check

const STORAGE_KEY = 'sightline-key';
const WAIT_MS = 1_000;
const WAIT_MS_MAX = 30_000;
/** The server sends something at least every 15 seconds. */
const SILENT_MS_MAX = 40_000;

/** A failed request: `status` is the HTTP status, or 0 if the server was not reached. */
export class Trouble extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @type {{ text: string | null }} */
const kept = { text: null };

/** The API key of this tab, if any. Kept in memory if the browser does not allow storage. */
export const key = {
  /** @returns {string | null} */
  get: () => kept.text ?? withStorage((storage) => storage.getItem(STORAGE_KEY)),
  /** @param {string} text */
  set: (text) => {
    kept.text = text;
    withStorage((storage) => storage.setItem(STORAGE_KEY, text));
  },
  forget: () => {
    kept.text = null;
    withStorage((storage) => storage.removeItem(STORAGE_KEY));
  },
};

/**
 * @template T
 * @param {(storage: Storage) => T} use
 * @returns {T | null}
 */
function withStorage(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

/**
 * Sends a request to the server. Throws a Trouble.
 * @param {string} path relative to the page
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function ask(path, signal) {
  const text = key.get();
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), {
      headers: text === null ? {} : { authorization: `Bearer ${text}` },
      cache: 'no-store',
      credentials: 'same-origin',
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (thrown) {
    throw new Trouble(0, thrown instanceof Error ? thrown.message : String(thrown));
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new Trouble(response.status, body?.error?.message ?? `The server responded with ${response.status}.`);
}

/**
 * @template T
 * @param {string} path
 * @returns {Promise<T>}
 */
export async function askJson(path) {
  const response = await ask(path);
  try {
    return await response.json();
  } catch {
    throw new Trouble(0, 'The response was cut off.');
  }
}

/**
 * @typedef {object} Hearing
 * @property {(event: string, data: any) => void} onEvent
 * @property {() => Promise<void>} onOpen is awaited and may throw; requests what was missed
 * @property {(trouble: Trouble, waitMs: number) => void} onTrouble
 */

/**
 * Listens to the server until stopped, and reconnects whenever the connection ends, with increasing delays.
 * @param {Hearing} hearing
 * @returns {() => void} stops it
 */
export function listen(hearing) {
  const stop = new AbortController();
  const run = async () => {
    let waitMs = WAIT_MS;
    while (!stop.signal.aborted) {
      try {
        await readEvents(hearing, stop.signal, () => {
          waitMs = WAIT_MS;
        });
        throw new Trouble(0, 'The server ended the connection.');
      } catch (thrown) {
        if (stop.signal.aborted) return;
        const trouble = thrown instanceof Trouble ? thrown : new Trouble(0, String(thrown));
        hearing.onTrouble(trouble, waitMs);
        if (stop.signal.aborted) return;
      }
      // Jitter, so that pages that lost the same server do not all reconnect at once.
      await pause(waitMs * (0.75 + Math.random() / 2), stop.signal);
      waitMs = Math.min(WAIT_MS_MAX, waitMs * 2);
    }
  };
  void run();
  return () => stop.abort();
}

/**
 * @param {Hearing} hearing
 * @param {AbortSignal} stopped
 * @param {() => void} onHeard
 */
async function readEvents(hearing, stopped, onHeard) {
  const connection = new AbortController();
  const end = () => connection.abort();
  stopped.addEventListener('abort', end, { once: true });
  let silence = setTimeout(end, SILENT_MS_MAX);
  try {
    const response = await ask('status/events', connection.signal);
    await hearing.onOpen();
    onHeard();
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body)
      .pipeThrough(/** @type {any} */ (new TextDecoderStream()))
      .getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: '' }));
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(end, SILENT_MS_MAX);
      const parts = (rest + value).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) dispatch(part, hearing);
    }
  } finally {
    clearTimeout(silence);
    stopped.removeEventListener('abort', end);
    connection.abort();
  }
}

/**
 * @param {string} text
 * @param {Hearing} hearing
 */
function dispatch(text, hearing) {
  const lines = text.split('\n');
  const of = (/** @type {string} */ name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const event = of('event');
  if (event !== undefined) hearing.onEvent(event, JSON.parse(of('data') ?? 'null'));
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    // Reconnect immediately when the page becomes visible or the network returns.
    window.addEventListener('online', end, { once: true });
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && end(), {
      once: true,
    });
  });
}
