import fc from 'fast-check';
import { declarations } from '../../schemas/catalogue.ts';
import type { Parameter } from '../../src/contract/parameters.ts';
import type { ResourceDeclaration } from '../../src/contract/resource.ts';
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
  /** Ids of the brand's rows by table. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
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
    const before = earlier?.brands.find((words) => words.id === id)?.ids ?? {};
    const groups = `${path}/prompt-groups`;
    brands.push({
      id: String(id),
      ids: {
        prompts: ids(await list(`${path}/prompts?includePaused=true`), before['prompts']),
        topics: ids(await list(groups, 'topics')),
        tags: ids(await list(groups, 'tags')),
        competitors: ids(await list(`${path}/competitors`), before['competitors']),
        articles: ids(await list(`${path}/articles`)),
      },
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

/** Generates requests to every endpoint with any combination of its parameters, mostly well-formed. */
export function questions(vocabulary: Vocabulary): fc.Arbitrary<string> {
  const ofBrand = declarations.filter(({ path }) => path.includes('{brandId}'));
  return fc.oneof(
    {
      weight: 1,
      arbitrary: fc.constantFrom('/engines', '/credits', '/brands?colour=red', `/brands/${STRANGER}/metrics`),
    },
    ...vocabulary.brands.map((words) => ({
      weight: 12,
      arbitrary: fc.oneof(...ofBrand.map((declaration) => requestsTo(declaration, words, vocabulary))),
    })),
  );
}

function requestsTo({ path, query }: ResourceDeclaration, words: Words, vocabulary: Vocabulary): fc.Arbitrary<string> {
  const values = Object.entries(query)
    .filter(([, { kind }]) => kind !== 'cursor')
    .map(([name, parameter]) => [
      parameter.nameUnknown === true ? vocabulary.rowMode : name,
      valuesOf(name, parameter, words, vocabulary),
    ]);
  return (
    fc
      .tuple(
        pickId(words.ids['articles']),
        fc.record(Object.fromEntries(values) as Record<string, fc.Arbitrary<string>>, { requiredKeys: [] }),
      )
      // Few filters at a time: with all of them hardly any response would have rows.
      .chain(([article, given]) =>
        fc
          .shuffledSubarray(Object.entries(given) as [string, string][], {
            maxLength: Math.min(Object.keys(given).length, 3),
          })
          .map((chosen) => {
            const target = path.replace('{brandId}', words.id).replace('{articleId}', article);
            return `${target}${toSearch(chosen)}`;
          }),
      )
  );
}

function pickId(known: readonly string[] = []): fc.Arbitrary<string> {
  return fc.constantFrom(...known, ...(known.length < 3 ? [STRANGER] : []), STRANGER);
}

/** Values of a parameter, of which few are invalid. */
function valuesOf(name: string, parameter: Parameter, words: Words, { engines, today }: Vocabulary) {
  const mostly = (arbitrary: fc.Arbitrary<string>, ...invalid: string[]): fc.Arbitrary<string> =>
    fc.oneof({ weight: 8, arbitrary }, { weight: 1, arbitrary: fc.constantFrom(...invalid) });
  const { kind, idOf, values = [] } = parameter;
  switch (kind) {
    case 'day': {
      const [min, max] = name === 'from' ? [-45, 1] : [-20, 2];
      const days = fc.integer({ min, max }).map((shift) => addDays(today, shift));
      return mostly(days, addDays(today, -370), addDays(today, -60), '2026-02-30', '', 'yesterday');
    }
    case 'uuid':
      return pickId(words.ids[idOf?.table ?? idOf?.resource ?? '']);
    case 'flag':
      return fc.constantFrom('true', 'false');
    case 'limit':
      return mostly(fc.integer({ min: 1, max: 100 }).map(String), '0', '101', '201', '-1', '1.5', 'ten', '');
    default:
      return mostly(fc.constantFrom(...(kind === 'choice' ? values : engines)), 'nobody');
  }
}

function toSearch(pairs: readonly (readonly [string, string])[]): string {
  const search = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString();
  return search === '' ? '' : `?${search}`;
}
