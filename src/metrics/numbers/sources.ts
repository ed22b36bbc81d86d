import { createBindings } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { answerTables, selectionConditions } from './aggregate.ts';
import { share } from './definitions.ts';
import { orderTerms, type SortValue, sortedBy, sortKeyOf } from './order.ts';
import { type Report, type ReportRequest, selectionOf } from './report-request.ts';

/** The citations of domain `t.domain`. */
const DOMAIN_CITATIONS: Readonly<Record<Conventions['citationCount'], string>> = {
  each: 'count(*)',
  pages: 'count(DISTINCT (t.response_id, t.url))',
  responses: 'count(DISTINCT t.response_id)',
};

// Calibration compares many orders and titles of the same rows, so its statements do not depend on them.
function isCompared({ memo }: ReportRequest): boolean {
  return memo !== undefined;
}

/** Returns the most cited domains. */
export async function reportDomains(request: ReportRequest): Promise<Report> {
  const { query, conventions, asked } = request;
  const { domainOrder, domainShare: form } = conventions;
  const bindings = createBindings();
  const { table, where } = cited(request, bindings);
  const citations = DOMAIN_CITATIONS[conventions.citationCount];
  const most = Number(asked.values['limit']);
  const limit = bindings.bind(most);
  const order = orderTerms(domainOrder, { ...DOMAIN_KEYS, citations });
  const [places, ending] = isCompared(request)
    ? [DOMAIN_PLACES, `QUALIFY rank() OVER (ORDER BY t.domain IS NULL, ${citations} DESC) <= ${limit}`]
    : ['', `ORDER BY t.domain IS NULL, ${order} LIMIT ${limit}`];
  const rows = await query(
    `SELECT t.domain, ${citations} AS citations, count(DISTINCT t.response_id), CAST(sum(${citations}) OVER () AS BIGINT)${places}
     FROM ${table} WHERE ${where} GROUP BY t.domain ${ending}`,
    bindings.values,
  );
  const answers = form.of === 'citations' ? 0 : await countAnswers(request, form.of);
  const named = rows.filter(([domain]) => domain !== null);
  const listed = isCompared(request) ? sortDomains(named, domainOrder).slice(0, most) : named;
  return {
    beside: {},
    rows: listed.map(([domain, citations, responses, all]) => {
      const [part, whole] = form.of === 'citations' ? [citations, all] : [responses, answers];
      return { domain, citations, responses, share: share(conventions, form, Number(part), Number(whole)) };
    }),
  };
}

/** Expressions of the sort keys of domains. */
const DOMAIN_KEYS = {
  domain: 't.domain',
  responses: 'count(DISTINCT t.response_id)',
  firstSeen: 'min((t.created_at, t.response_id, t.ordinal))',
  lastSeen: 'max((t.created_at, t.response_id, -t.ordinal))',
  firstTime: 'min(t.created_at)',
  lastTime: 'max(t.created_at)',
} as const;

/** Columns with the places of domains by each sort key. */
const DOMAIN_PLACES = Object.values(DOMAIN_KEYS)
  .map((key) => `, dense_rank() OVER (ORDER BY ${key})`)
  .join('');

function sortDomains(rows: readonly unknown[][], order: readonly string[]): unknown[][] {
  const columns = [null, 'citations', null, null, ...Object.keys(DOMAIN_KEYS)];
  return sortedBy(rows, order, (row, key) => row[columns.indexOf(key)] as SortValue);
}

/** Expressions of sort keys of pages that are computed only if the order has them. */
const COUNTED_KEYS = {
  responses: 'count(DISTINCT response_id)',
  firstSeen: 'min((created_at, response_id, ordinal))',
  lastSeen: 'max((created_at, response_id, -ordinal))',
  firstTime: 'min(created_at)',
  lastTime: 'max(created_at)',
} as const;

/** Columns of the sort keys of pages. */
const PAGE_KEYS = {
  url: 'url',
  citations: 'citations',
  domain: 'domain',
  title: 'title',
  responses: '"responses"',
  firstSeen: '"firstSeen"',
  lastSeen: '"lastSeen"',
  firstTime: '"firstTime"',
  lastTime: '"lastTime"',
} as const;

// Equal times are ordered too, so that equal data always give equal titles.
const MOMENT = '(cited.created_at, cited.response_id, cited.ordinal)';

/** Expressions of the title of a page. */
const TITLES: Readonly<Record<Conventions['urlTitle'], string>> = {
  latest: `arg_max(cited.title, ${MOMENT})`,
  first: `arg_min(cited.title, ${MOMENT})`,
  latestOrNull: `arg_max_null(cited.title, ${MOMENT})`,
  firstOrNull: `arg_min_null(cited.title, ${MOMENT})`,
  // The latest of the most frequent titles.
  frequent: `arg_max(cited.title, (cited.times, ${MOMENT}))`,
  frequentByName: 'arg_min(cited.title, (-cited.times, cited.title))',
  longest: 'arg_min(cited.title, (-length(cited.title), cited.title))',
  shortest: 'arg_min(cited.title, (length(cited.title), cited.title))',
  least: 'min(cited.title)',
  greatest: 'max(cited.title)',
  each: 'any_value(cited.title)',
};

/** Titles of pages that have one row. */
const PAGE_TITLES = (Object.keys(TITLES) as Conventions['urlTitle'][]).filter((title) => title !== 'each');

/** Returns the most cited pages, each with one of its titles. */
export async function reportPages(request: ReportRequest): Promise<Report> {
  const { query, asked, conventions } = request;
  const { urlOrder, urlTitle, citationCount } = conventions;
  const bindings = createBindings();
  const { table, where } = cited(request, bindings);
  const most = Number(asked.values['limit']);
  // The limit is bound in the branch that uses it, because a statement must use each bound value.
  const limit = (): string => bindings.bind(most);
  const isSorted = !isCompared(request);
  // Titles are read for the listed pages only, because that is slower; unless the order needs them.
  const needsTitles =
    !isSorted || urlTitle === 'each' || urlOrder.some((key) => /^(title|domain)$/.test(sortKeyOf(key)));
  // A page has several rows if each of its titles has one.
  const keys = urlTitle === 'each' ? [...urlOrder, 'title'] : urlOrder;
  const order = orderTerms(keys, PAGE_KEYS);
  const key = urlTitle === 'each' ? 'url, title' : 'url';
  const counts = citationCount === 'each' ? 'count(*)' : 'count(DISTINCT response_id)';
  const counted = Object.entries(COUNTED_KEYS).filter(
    ([name]) => !isSorted || urlOrder.some((term) => sortKeyOf(term) === name),
  );
  const titles = isSorted || urlTitle === 'each' ? [urlTitle] : PAGE_TITLES;
  const places = counted.map(([name]) => `dense_rank() OVER (ORDER BY "${name}") AS "${name}"`).join(', ');
  const sameTitle = urlTitle === 'each' ? ' AND listed.title IS NOT DISTINCT FROM cited.title' : '';
  const rows = await query(
    `WITH cited AS NOT MATERIALIZED (SELECT t.* FROM ${table} WHERE ${where} AND t.url IS NOT NULL),
       listed AS (SELECT ${key}, ${counts} AS citations${counted.map(([name, sql]) => `, ${sql} AS "${name}"`).join('')}
         FROM cited GROUP BY ${key} ${needsTitles ? mostCited(urlOrder, counts, limit) : `ORDER BY ${order} LIMIT ${limit()}`}),
       titled AS (SELECT cited.*, citations${counted.map(([name]) => `, "${name}"`).join('')}${
         titles.some((title) => title.startsWith('frequent'))
           ? `, ${counts} OVER (PARTITION BY cited.url, cited.title) AS times`
           : ''
       } FROM listed JOIN cited ON listed.url = cited.url${sameTitle})
     SELECT *${isSorted ? '' : ` REPLACE (${places})`} FROM (SELECT url, arg_max(cited.domain, ${MOMENT}) AS domain, any_value(citations) AS citations,
       ${titles.map((title) => `${TITLES[title]} AS ${titles.length === 1 ? 'title' : quoted(title)}`).join(', ')}${counted.map(([name]) => `, any_value("${name}") AS "${name}"`).join('')}
     FROM titled cited GROUP BY ${urlTitle === 'each' ? 'url, cited.title' : 'url'})
     ${isSorted ? `ORDER BY ${order} ${needsTitles ? `LIMIT ${limit()}` : ''}` : ''}`,
    bindings.values,
  );
  const title = 3 + titles.indexOf(urlTitle);
  const columns = ['url', 'domain', 'citations', ...titles, ...counted.map(([name]) => name)];
  const valueOf = (row: readonly unknown[], key: string): SortValue =>
    row[key === 'title' ? title : columns.indexOf(key)] as SortValue;
  const listed = isSorted ? rows : sortedBy(rows, keys, valueOf).slice(0, most);
  return {
    beside: {},
    rows: listed.map((row) => ({ url: row[0], domain: row[1], title: row[title], citations: row[2] })),
  };
}

// Leaves out pages that cannot be listed because enough others have more citations.
function mostCited([first]: readonly string[], citations: string, limit: () => string): string {
  return first === '-citations' ? `QUALIFY rank() OVER (ORDER BY ${citations} DESC) <= ${limit()}` : '';
}

function cited(request: ReportRequest, bindings: ReturnType<typeof createBindings>) {
  const { citations } = answerTables(request.catalogue);
  const conditions = selectionConditions(selectionOf(request), bindings);
  return { table: `${quoted(citations.name)} t`, where: conditions.join(' AND ') };
}

async function countAnswers(request: ReportRequest, which: 'responses' | 'citing'): Promise<number> {
  const { answers, citations } = answerTables(request.catalogue);
  const bindings = createBindings();
  if (which === 'citing') {
    const conditions = cited(request, bindings).where;
    const [row] = await request.query(
      `SELECT count(DISTINCT t.response_id) FROM ${quoted(citations.name)} t WHERE ${conditions}`,
      bindings.values,
    );
    return Number(row?.[0] ?? 0);
  }
  const where = selectionConditions(selectionOf(request), bindings).join(' AND ');
  const [row] = await request.query(`SELECT count(*) FROM ${quoted(answers.name)} t WHERE ${where}`, bindings.values);
  return Number(row?.[0] ?? 0);
}
