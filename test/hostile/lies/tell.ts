import type { Lie } from '../attack.ts';
import type { Exchange } from '../liar.ts';

type Tell = Lie['tell'];

/** Whether a request is for the list or report at the end of a path. */
export const at =
  (ending: string) =>
  ({ path }: Exchange): boolean =>
    path.endsWith(ending);
/** A list of which a single slice may fail. */
export const isAlerts = at('/alerts');
export const isResponses = at('/responses');
export const isDayCounts = at('/metrics/daily');
export const isPrompts = ({ path }: Exchange): boolean => path.endsWith('/prompts') && !path.includes('/metrics/');
export const isBrands = ({ path }: Exchange): boolean => path === '/brands';

/** Edits the JSON body of a successful response. */
// oxlint-disable-next-line typescript/no-explicit-any -- a lie knows the body that it edits
export function edit(change: (body: any, exchange: Exchange) => unknown): Tell {
  return (exchange) => {
    if (exchange.status === 200) exchange.edit((body) => change(body, exchange));
  };
}

/** Edits every item of a list. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export function editEach(change: (item: any, exchange: Exchange) => unknown): Tell {
  return edit((body, exchange) => {
    for (const item of body.data ?? body) change(item, exchange);
  });
}

/** Replaces the text of a body. */
export function rewrite(change: (text: string, exchange: Exchange) => string | Buffer): Tell {
  return (exchange) => {
    exchange.body = Buffer.from(change(exchange.body.toString(), exchange));
  };
}

/** Encodes a body, whether or not it was requested. */
export function encode(coding: string, pack: (body: Buffer) => Buffer): Tell {
  return (exchange) => {
    exchange.body = pack(exchange.body);
    exchange.headers['content-encoding'] = coding;
  };
}

/** Sends another status. */
export function reply(status: number, body?: string, headers: Record<string, string> = {}): Tell {
  return (exchange) => {
    exchange.status = status;
    if (body !== undefined) exchange.body = Buffer.from(body);
    Object.assign(exchange.headers, headers);
  };
}

/** Sends another header, or none. */
export function header(name: string, value: (exchange: Exchange) => string | undefined): Tell {
  return (exchange) => {
    exchange.headers[name] = value(exchange);
  };
}

/** Tells a lie once per path. */
export function once(tell: Tell): Tell {
  return (exchange, state) => {
    const key = `told ${exchange.path}`;
    if (!state.has(key)) tell(exchange, state);
    state.set(key, true);
  };
}
