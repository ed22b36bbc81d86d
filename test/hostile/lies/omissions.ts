import type { Lie } from '../attack.ts';
import type { Exchange } from '../liar.ts';

type State = Map<string, unknown>;

const isList = ({ path }: Exchange): boolean => path.endsWith('/responses');
const isDayCounts = ({ path }: Exchange): boolean => path.endsWith('/metrics/daily');

// Edits a list until it has been read `times` times per brand and range; 0 edits every read.
function edit(
  isWanted: (exchange: Exchange) => boolean,
  // biome-ignore lint/suspicious/noExplicitAny: a lie knows the body that it edits
  change: (body: any, exchange: Exchange) => unknown,
  times = 0,
): Lie['tell'] {
  return (exchange, state: State) => {
    if (!isWanted(exchange) || exchange.status !== 200) return;
    const told = Number(state.get(exchange.path) ?? 0) + 1;
    state.set(exchange.path, told);
    if (times === 0 || told <= times) exchange.edit((body) => change(body, exchange));
  };
}

// biome-ignore lint/suspicious/noExplicitAny: see above
const half = (body: any): unknown => ({
  ...body,
  data: body.data.slice(0, Math.floor(body.data.length / 2)),
  nextCursor: null,
});
// biome-ignore lint/suspicious/noExplicitAny: see above
const empty = (body: any): unknown => ({ ...body, data: [], ...('nextCursor' in body ? { nextCursor: null } : {}) });
const isBrands = ({ path }: Exchange): boolean => path === '/brands';
const isPrompts = ({ path }: Exchange): boolean => path.endsWith('/prompts') && !path.includes('/metrics/');
const isArticles = ({ path }: Exchange): boolean => path.endsWith('/articles');

/** Lists, counts and details that lack items, alone or inconsistent with each other. */
export const omissionLies: readonly Lie[] = [
  {
    title: 'cuts every list of responses to half, with correct day counts',
    tell: edit(isList, half),
    exits: [3],
    // The counts of a day are equal if the half that is listed has its late responses; then the figures of edited ones differ.
    says: /\d+ counted(, \d+ stored| and stored, other figures differ)/,
  },
  {
    title: 'cuts every list of responses to half in the first sync',
    attacks: 'first',
    tell: edit(isList, half),
    exits: [3],
    says: /days? differs? from upstream's day counts/,
  },
  {
    title: 'sends an empty list of responses once',
    tell: edit(isList, empty, 1),
    exits: [0, 3],
  },
  {
    title: 'sends empty lists of responses always',
    tell: edit(isList, empty),
    exits: [3],
    says: /counted/,
  },
  {
    title: 'leaves out the responses of yesterday',
    tell: edit(isList, (body) => {
      const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
      return { ...body, data: body.data.filter((row: { createdAt: string }) => !row.createdAt.startsWith(yesterday)) };
    }),
    exits: [3],
    says: /counted/,
  },
  {
    title: 'returns 500 for every list of responses',
    tell: (exchange) => {
      if (isList(exchange)) exchange.status = 500;
    },
    exits: [3],
    says: /500/,
  },
  {
    title: 'counts no responses on any day',
    tell: edit(isDayCounts, (body) => ({
      ...body,
      data: body.data.map((row: object) => ({ ...row, responses: 0, mentions: 0 })),
    })),
    exits: [3],
    says: /0 counted/,
  },
  {
    title: 'sends empty day counts',
    tell: edit(isDayCounts, empty),
    exits: [3],
    says: /accept-deletions/,
  },
  {
    title: 'sends empty day counts in the first sync',
    attacks: 'first',
    tell: edit(isDayCounts, empty),
    exits: [3],
    says: /0 counted/,
  },
  {
    title: 'counts one response too many on every day',
    tell: edit(isDayCounts, (body) => ({
      ...body,
      data: body.data.map((row: { responses: number }) => ({ ...row, responses: row.responses + 1 })),
    })),
    exits: [3],
    says: /days? differs?/,
  },
  {
    title: 'returns 500 for the day counts',
    tell: (exchange) => {
      if (isDayCounts(exchange)) exchange.status = 500;
    },
    exits: [3],
    says: /500/,
  },
  {
    title: 'sends an empty list of brands always',
    tell: edit(isBrands, empty),
    exits: [3],
    says: /no longer lists 2 of 2 stored rows of brands; they stay/,
  },
  {
    title: 'leaves one brand out of the list of brands',
    tell: edit(isBrands, (body) => (Array.isArray(body) ? body.slice(1) : { ...body, data: body.data.slice(1) })),
    exits: [3],
    says: /no longer lists 1 of 2 stored rows of brands/,
  },
  {
    title: 'cuts the lists of prompts to a third',
    tell: edit(isPrompts, (body) => ({ ...body, data: body.data.slice(0, Math.floor(body.data.length / 3)) })),
    exits: [3],
    says: /accept-deletions/,
  },
  {
    title: 'returns 404 for every detail of an article',
    attacks: 'first',
    tell: (exchange) => {
      if (exchange.path.includes('/articles/')) exchange.status = 404;
    },
    exits: [3],
    says: /article .*404/,
  },
  {
    title: 'returns 404 for every detail of a brand',
    attacks: 'first',
    tell: (exchange) => {
      if (/^\/brands\/[^/]+$/.test(exchange.path)) exchange.status = 404;
    },
    exits: [3],
    says: /404/,
  },
  {
    title: 'sends responses without their competitors',
    tell: edit(isList, (body) => ({ ...body, data: body.data.map((row: object) => ({ ...row, competitors: [] })) })),
    exits: [3],
    says: /other figures differ/,
  },
  {
    title: 'sends responses without their citations',
    tell: edit(isList, (body) => ({ ...body, data: body.data.map((row: object) => ({ ...row, citations: [] })) })),
    exits: [3],
    says: /citations/,
  },
  {
    title: 'sends the first page of responses twice',
    attacks: 'first',
    tell: (exchange, state) => {
      if (!isList(exchange) || exchange.status !== 200) return;
      const key = `${exchange.path} ${exchange.query.get('from')}`;
      if (exchange.query.has('cursor')) {
        exchange.edit((body) => ({ ...body, data: state.get(key) ?? body.data.slice(0, 1) }));
      } else exchange.edit((body) => void state.set(key, body.data));
    },
    exits: [0, 3],
  },
  {
    title: 'sends the responses of the other brand',
    tell: (exchange, state) => {
      if (!isList(exchange) || exchange.status !== 200) return;
      const lists = (state.get('lists') ?? new Map()) as Map<string, unknown>;
      state.set('lists', lists);
      exchange.edit((body) => {
        lists.set(exchange.path, body.data);
        const other = [...lists].find(([path]) => path !== exchange.path)?.[1];
        return other === undefined ? body : { ...body, data: other, nextCursor: null };
      });
    },
    exits: [3],
  },
];

/** Variants of the lies above, also used in random sequences. */
export const furtherOmissionLies: readonly Lie[] = [
  {
    title: 'ends every list of responses after its first page',
    attacks: 'first',
    tell: edit(isList, (body) => ({ ...body, data: body.data.slice(0, 10), nextCursor: null })),
    exits: [3],
    says: /days? differs? from upstream's day counts/,
  },
  {
    title: 'sends empty lists of responses in the first sync',
    attacks: 'first',
    tell: edit(isList, empty),
    exits: [3],
    says: /counted, 0 stored/,
  },
  {
    title: 'sends empty lists of responses for one brand',
    tell: (exchange, state) => {
      const brand = state.get('brand') ?? exchange.path.split('/')[2];
      if (!isList(exchange)) return;
      state.set('brand', brand);
      if (exchange.path.includes(String(brand))) exchange.edit(empty);
    },
    exits: [3],
    says: /counted/,
  },
  {
    title: 'leaves two days out of the day counts',
    tell: edit(isDayCounts, (body) => {
      const days = [...new Set(body.data.map((row: { date: string }) => row.date))].sort().slice(0, 2);
      return { ...body, data: body.data.filter((row: { date: string }) => !days.includes(row.date)) };
    }),
    exits: [3],
    says: /0 counted/,
  },
  {
    title: 'sends an empty list of brands once',
    tell: edit(isBrands, empty, 1),
    exits: [0],
  },
  {
    title: 'sends an empty list of prompts once',
    tell: edit(isPrompts, empty, 1),
    exits: [0],
  },
  {
    title: 'sends empty lists of prompts always',
    tell: edit(isPrompts, empty),
    exits: [3],
    says: /stored rows of prompts; they stay/,
  },
  {
    title: 'sends empty lists of articles',
    tell: edit(isArticles, empty),
    // Up to 10 rows may be deleted at once.
    exits: [0, 3],
  },
  {
    title: 'sends responses in another order',
    tell: edit(isList, (body) => ({ ...body, data: body.data.toReversed() })),
    exits: [0],
  },
  {
    title: 'sends alerts up to the first page only, without the oldest',
    tell: edit(
      ({ path }) => path.endsWith('/alerts'),
      (body) => ({ ...body, data: body.data.slice(0, -1), nextCursor: null }),
    ),
    exits: [0, 3],
  },
];
