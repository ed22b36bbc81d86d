import fc from 'fast-check';
import { addDays } from '../../src/contract/time.ts';
import type { Mirror } from './mirror.ts';

/** Ids and values of a workspace from which requests are generated. */
export interface Vocabulary {
  readonly brands: readonly Words[];
  readonly engines: readonly string[];
  readonly rowMode: string;
  readonly today: string;
}

interface Words {
  readonly id: string;
  readonly prompts: readonly string[];
  readonly topics: readonly string[];
  readonly tags: readonly string[];
  readonly competitors: readonly string[];
  readonly articles: readonly string[];
}

type Rows = readonly Readonly<Record<string, unknown>>[];

const STRANGER = '00000000-0000-4000-8000-000000000000';

/** Reads the vocabulary from upstream; `earlier` keeps values that were deleted since. */
export async function readVocabulary(
  mirror: Pick<Mirror, 'upstream' | 'sandbox'>,
  earlier?: Vocabulary,
): Promise<Vocabulary> {
  const list = async (path: string, name = 'data'): Promise<Rows> => {
    const { body } = await mirror.upstream(path);
    return (Array.isArray(body) ? body : ((body as Record<string, unknown>)[name] ?? [])) as Rows;
  };
  const ids = (rows: Rows, known: readonly string[] = []): string[] => [
    ...new Set([...known, ...rows.map(({ id }) => String(id))]),
  ];
  const brands: Words[] = [];
  for (const { id } of await list('/brands')) {
    const path = `/brands/${String(id)}`;
    const before = earlier?.brands.find((words) => words.id === id);
    brands.push({
      id: String(id),
      prompts: ids(await list(`${path}/prompts?includePaused=true`), before?.prompts),
      topics: ids(await list(`${path}/prompt-groups`, 'topics')),
      tags: ids(await list(`${path}/prompt-groups`, 'tags')),
      competitors: ids(await list(`${path}/competitors`), before?.competitors),
      articles: ids(await list(`${path}/articles`)),
    });
  }
  const engines = (await list('/engines')) as readonly unknown[];
  return {
    brands,
    engines: engines.map((item) => (typeof item === 'string' ? item : String((item as { slug: string }).slug))),
    rowMode: mirror.sandbox.world.choices.rowModeParameter,
    today: new Date(mirror.sandbox.world.now()).toISOString().slice(0, 10),
  };
}

/** Generates requests to every endpoint with any combination of parameters, mostly well-formed. */
export function questions(vocabulary: Vocabulary): fc.Arbitrary<string> {
  const { engines, rowMode, today } = vocabulary;
  const pickId = (known: readonly string[]) =>
    fc.constantFrom(...known, ...(known.length < 3 ? [STRANGER] : []), STRANGER);
  const range = {
    from: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: -45, max: 1 }).map((shift) => addDays(today, shift)) },
      { weight: 1, arbitrary: fc.constantFrom(addDays(today, -370), '2026-02-30', '', 'yesterday') },
    ),
    to: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: -20, max: 2 }).map((shift) => addDays(today, shift)) },
      { weight: 1, arbitrary: fc.constantFrom('2026-13-01', addDays(today, -60)) },
    ),
  };
  const limit = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 100 }).map(String) },
    { weight: 1, arbitrary: fc.constantFrom('0', '101', '201', '-1', '1.5', 'ten', '') },
  );
  const slug = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...engines) },
    { weight: 1, arbitrary: fc.constant('nobody') },
  );
  const yesOrNo = fc.constantFrom('true', 'false');
  const ofBrand = (words: Words): fc.Arbitrary<string> => {
    const common = {
      ...range,
      engine: slug,
      promptId: pickId(words.prompts),
      topicId: pickId(words.topics),
      tagId: pickId(words.tags),
      branded: fc.constantFrom('branded', 'non-branded'),
    };
    const at = (path: string, parameters: Record<string, fc.Arbitrary<string>> = {}): fc.Arbitrary<string> =>
      fc
        .record(parameters, { requiredKeys: [] })
        .map((values) => Object.entries(values) as [string, string][])
        // Few filters at a time: with all of them hardly any response would have rows.
        .chain((pairs) => fc.shuffledSubarray(pairs, { maxLength: Math.min(pairs.length, 3) }))
        .map((pairs) => `/brands/${words.id}${path}${toSearch(pairs)}`);
    return fc.oneof(
      at(''),
      at('/competitors'),
      at('/prompts', { includePaused: yesOrNo }),
      at('/prompt-groups'),
      at('/metrics', common),
      at('/metrics/daily', { ...common, [rowMode]: fc.constantFrom('engine', 'none') }),
      at('/metrics/prompts', common),
      at('/metrics/groups', {
        ...common,
        groupBy: fc.constantFrom('topic', 'tag', 'funnelStage', 'branded', 'colour'),
      }),
      at('/traffic', { ...range, source: fc.constantFrom('assistant-a', 'assistant-c', 'other-ai', 'unknown') }),
      at('/sources/domains', { ...range, engine: slug, limit }),
      at('/sources/urls', { ...range, engine: slug, limit }),
      at('/responses', { ...common, brandMentioned: yesOrNo, competitorId: pickId(words.competitors), limit }),
      at('/alerts', {
        type: fc.constantFrom('visibility_drop', 'competitor_overtake', 'new_rival_source', 'x'),
        limit,
      }),
      at('/action-plans'),
      at('/articles'),
      pickId(words.articles).map((id) => `/brands/${words.id}/articles/${id}`),
      at('/forum/opportunities', {
        type: fc.constantFrom('ai', 'outreach'),
        status: fc.constantFrom('new', 'saved', 'dismissed', 'drafted', 'posted'),
        limit,
      }),
      at('/metrics', { ...common, colour: fc.constant('red') }),
    );
  };
  return fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('/engines', '/credits', '/brands', `/brands/${STRANGER}/metrics`) },
    ...vocabulary.brands.map((words) => ({ weight: 12, arbitrary: ofBrand(words) })),
  );
}

function toSearch(pairs: readonly (readonly [string, string])[]): string {
  const search = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString();
  return search === '' ? '' : `?${search}`;
}
