import { createDispatcher, type Dispatcher, proxyRefusal } from '../../base/dispatcher.ts';
import { SightlineError } from '../../base/errors.ts';
import type { FindProxy } from '../../base/proxies.ts';

/** A request of the AWS SDK. */
interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly method: string;
  readonly query?: Readonly<Record<string, string | string[] | null>>;
  readonly headers: Record<string, string>;
  readonly body?: Exclude<Dispatcher.DispatchOptions['body'], undefined>;
}

/**
 * Creates a handler that sends requests with undici through the proxies of `findProxy`, which the handler of the SDK ignores.
 * @throws `unreachable` from `handle` if the proxy refuses the connection
 */
export function createProxyHandler(
  findProxy: FindProxy,
  { connectMs, silentMs }: { readonly connectMs: number; readonly silentMs: number },
) {
  const dispatchers = new Map<string, Dispatcher>();
  const limits = { connect: { timeout: connectMs }, headersTimeout: silentMs, bodyTimeout: silentMs };
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    handle: async (request: SdkRequest, options: { readonly abortSignal?: unknown } = {}) => {
      const { protocol, hostname, port, path, method, query = {}, body = null } = request;
      // undici does not wait for 100 Continue.
      const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !/^expect$/i.test(name)));
      const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`);
      const proxy = findProxy(url);
      const dispatcher = dispatchers.get(url.origin) ?? createDispatcher(proxy, limits);
      dispatchers.set(url.origin, dispatcher);
      try {
        const { statusCode, ...answer } = await dispatcher.request({
          origin: url.origin,
          path: `${path}${searchOf(query)}`,
          method: method as Dispatcher.HttpMethod,
          headers,
          body,
          signal: (options.abortSignal as AbortSignal | undefined) ?? null,
        });
        const single = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
        return { response: { statusCode, headers: Object.fromEntries(single), body: answer.body } };
      } catch (thrown) {
        const refusal = proxy === null ? null : proxyRefusal(thrown, proxy);
        throw refusal === null ? thrown : new SightlineError('unreachable', refusal, { cause: thrown });
      }
    },
    destroy: () => {
      for (const dispatcher of dispatchers.values()) void dispatcher.destroy();
    },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
}

function searchOf(query: NonNullable<SdkRequest['query']>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().map((one): [string, string] => [name, one]),
  );
  // Stores sign `%20`.
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString().replaceAll('+', '%20')}`;
}
