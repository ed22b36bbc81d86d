import type { Choices } from './choices.ts';

type Member = Record<string, unknown>;

const string = (name: string): Member => ({ name, in: 'query', schema: { type: 'string' } });
const oneOf = (name: string, values: readonly string[]): Member => ({
  name,
  in: 'query',
  schema: { type: 'string', enum: values },
});
const limit = (maximum: number, standard: number): Member => ({
  name: 'limit',
  in: 'query',
  schema: { type: 'integer', minimum: 1, maximum, default: standard },
});

const DAYS = [string('from'), string('to')];
const FILTERS = [
  ...DAYS,
  string('engine'),
  string('promptId'),
  string('topicId'),
  string('tagId'),
  oneOf('branded', ['branded', 'non-branded']),
];
const PAGING = [limit(100, 25), string('cursor')];
const SOURCES = [...DAYS, string('engine'), limit(200, 50)];

/** The OpenAPI description of the upstream: paths and parameters. */
export function describeApi({ rowModeName }: Choices): Member {
  const brandPaths: Record<string, readonly Member[]> = {
    '': [],
    '/competitors': [],
    '/prompts': [oneOf('includePaused', ['true', 'false'])],
    '/prompt-groups': [],
    '/metrics': FILTERS,
    '/metrics/daily': [
      ...FILTERS,
      { name: rowModeName, in: 'query', schema: { type: 'string', enum: ['engine', 'none'], default: 'engine' } },
    ],
    '/metrics/prompts': FILTERS,
    '/metrics/groups': [...FILTERS, oneOf('groupBy', ['topic', 'tag', 'funnelStage', 'branded'])],
    '/traffic': [...DAYS, string('source')],
    '/sources/domains': SOURCES,
    '/sources/urls': SOURCES,
    '/responses': [...FILTERS, oneOf('brandMentioned', ['true', 'false']), string('competitorId'), ...PAGING],
    '/alerts': [oneOf('type', ['visibility_drop', 'competitor_overtake', 'new_rival_source']), ...PAGING],
    '/action-plans': [],
    '/articles': [],
    '/articles/{articleId}': [],
    '/forum/opportunities': [
      oneOf('type', ['ai', 'outreach']),
      oneOf('status', ['new', 'saved', 'dismissed', 'drafted', 'posted']),
      ...PAGING,
    ],
  };
  const paths = { '/engines': [], '/brands': [], '/credits': [] } as Record<string, readonly Member[]>;
  for (const [path, parameters] of Object.entries(brandPaths)) paths[`/brands/{brandId}${path}`] = parameters;
  return {
    openapi: '3.0.3',
    info: { title: 'Brand visibility API', version: '1' },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, parameters]) => [path, describePath(path, parameters)]),
    ),
  };
}

function describePath(path: string, query: readonly Member[]): Member {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const ids = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }));
  const content = { 'application/json': { schema: {} } };
  return { get: { parameters: [...ids, ...query], responses: { 200: { description: 'OK', content } } } };
}
