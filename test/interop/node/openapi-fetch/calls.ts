// Calls every endpoint with the types that openapi-typescript wrote. It compiles only if each body has one JSON type whose
// keys are present and not null, so nothing here casts or checks for null. Items of engines and competitors have no
// documented fields.
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

type Ids = { readonly brandId: string; readonly articleId: string };

/** Returns a function for each endpoint that returns whether the body has what its type promises. */
export function calls(
  baseUrl: string,
  key: string,
  { brandId, articleId }: Ids,
): Record<string, () => Promise<boolean>> {
  const client = createClient<paths>({ baseUrl, headers: { 'X-Api-Key': key } });
  const brand = { params: { path: { brandId } } };
  const article = { params: { path: { brandId, articleId } } };
  return {
    engines: async () => got(await client.GET('/engines')).data.length > 0,
    credits: async () => typeof got(await client.GET('/credits')) === 'object',
    brands: async () => texts(got(await client.GET('/brands')).data.map(({ id }) => id)),
    brand: async () => text(got(await client.GET('/brands/{brandId}', brand)).id),
    competitors: async () => got(await client.GET('/brands/{brandId}/competitors', brand)).data.length > 0,
    prompts: async () => texts(got(await client.GET('/brands/{brandId}/prompts', brand)).data.map(({ id }) => id)),
    'prompt groups': async () => {
      const { topics, tags } = got(await client.GET('/brands/{brandId}/prompt-groups', brand));
      return texts([...topics, ...tags].map(({ id }) => id));
    },
    metrics: async () => {
      const { from, to, responses, data } = got(await client.GET('/brands/{brandId}/metrics', brand));
      return texts([from, to, ...data.map(({ entityType }) => entityType)]) && number(responses);
    },
    'daily metrics': async () =>
      texts(got(await client.GET('/brands/{brandId}/metrics/daily', brand)).data.map(({ date }) => date)),
    'prompt metrics': async () =>
      texts(got(await client.GET('/brands/{brandId}/metrics/prompts', brand)).data.map(({ promptId }) => promptId)),
    'group metrics': async () => {
      const { groupBy } = got(await client.GET('/brands/{brandId}/metrics/groups', brand));
      return text(groupBy);
    },
    traffic: async () => texts(got(await client.GET('/brands/{brandId}/traffic', brand)).data.map(({ date }) => date)),
    domains: async () =>
      texts(got(await client.GET('/brands/{brandId}/sources/domains', brand)).data.map(({ domain }) => domain)),
    urls: async () => texts(got(await client.GET('/brands/{brandId}/sources/urls', brand)).data.map(({ url }) => url)),
    responses: async () => {
      const query = { params: { path: { brandId }, query: { limit: 100 } } };
      const { data, nextCursor } = got(await client.GET('/brands/{brandId}/responses', query));
      const next: string | null = nextCursor;
      return data.length === 100 && next !== null && texts(data.map(({ id }) => id));
    },
    alerts: async () => texts(got(await client.GET('/brands/{brandId}/alerts', brand)).data.map(({ id }) => id)),
    'action plans': async () =>
      texts(got(await client.GET('/brands/{brandId}/action-plans', brand)).data.map(({ promptId }) => promptId)),
    articles: async () => texts(got(await client.GET('/brands/{brandId}/articles', brand)).data.map(({ id }) => id)),
    article: async () => text(got(await client.GET('/brands/{brandId}/articles/{articleId}', article)).id),
    'forum opportunities': async () =>
      texts(got(await client.GET('/brands/{brandId}/forum/opportunities', brand)).data.map(({ id }) => id)),
  };
}

function got<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

function text(value: string): boolean {
  return typeof value === 'string' && value !== '';
}

function texts(values: readonly string[]): boolean {
  return values.length > 0 && values.every(text);
}

function number(value: number): boolean {
  return typeof value === 'number';
}
