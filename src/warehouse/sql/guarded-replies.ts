import type { Done, Reply } from './guarded-protocol.ts';

/** Returns the final reply of a task that has sent or written its complete result. */
export function complete(rows: number): Done {
  return { rows, isTruncated: false, rowsTotal: rows };
}

/** Sends a reply to the parent. */
export function send(reply: Reply): void {
  process.send?.(reply);
}

/** Resolves when the parent has received the reply, so that a large result does not accumulate here. */
export function sent(reply: Reply): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(reply, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}
