import { createBindings } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { answerTables, selectionConditions } from './aggregate.ts';
import { share } from './definitions.ts';
import { orderTerms } from './order.ts';
import { type Report, type ReportRequest, selectionOf } from './report-request.ts';

/** Returns the most cited domains. A page cited twice in one response is two citations. */
export async function reportDomains(request: ReportRequest): Promise<Report> {
  const { query, conventions, asked } = request;
  const form = conventions.domainShare;
  const bindings = createBindings();
  const { table, where } = cited(request, bindings);
  const rows = await query(
    `SELECT t.domain, count(*) AS citations, count(DISTINCT t.response_id), CAST(sum(count(*)) OVER () AS BIGINT)
     FROM ${table} WHERE ${where} GROUP BY t.domain
     ORDER BY t.domain IS NULL, ${orderTerms(conventions.domainOrder, DOMAIN_KEYS)}
     LIMIT ${bindings.bind(Number(asked.values['limit']))}`,
    bindings.values,
  );
  const answers = form.of === 'responses' ? await countAnswers(request) : 0;
  const named = rows.filter(([domain]) => domain !== null);
  return {
    beside: {},
    rows: named.map(([domain, citations, responses, all]) => {
      const [part, whole] = form.of === 'responses' ? [responses, answers] : [citations, all];
      return { domain, citations, responses, share: share(conventions, form, Number(part), Number(whole)) };
    }),
  };
}

/** Expressions of the sort keys of domains. */
const DOMAIN_KEYS = {
  domain: 't.domain',
  citations: 'count(*)',
  responses: 'count(DISTINCT t.response_id)',
  firstSeen: 'min((t.created_at, t.response_id, t.ordinal))',
} as const;

/** Expressions of the sort keys of pages. */
const PAGE_KEYS = {
  url: 'url',
  citations: 'citations',
  domain: 'domain',
  title: 'title',
  responses: 'responses',
  firstSeen: 'first_seen',
} as const;

// Equal times are ordered too, so that equal data always give equal titles.
const MOMENT = '(cited.created_at, cited.response_id, cited.ordinal)';

/** Expressions of the title of a page. */
const TITLES: Readonly<Record<Conventions['urlTitle'], string>> = {
  latest: `arg_max(cited.title, ${MOMENT})`,
  first: `arg_min(cited.title, ${MOMENT})`,
  // The most frequent title; the latest of several.
  frequent: `arg_max(cited.title, (cited.times, ${MOMENT}))`,
  least: 'min(cited.title)',
  greatest: 'max(cited.title)',
};

/** Returns the most cited pages, each with one of its titles. */
export async function reportPages(request: ReportRequest): Promise<Report> {
  const { query, asked, conventions } = request;
  const bindings = createBindings();
  const { table, where } = cited(request, bindings);
  const limit = bindings.bind(Number(asked.values['limit']));
  const { urlOrder, urlTitle } = conventions;
  // Titles are read for the listed pages only, because that is slower; unless the order needs them.
  const needsTitles = urlOrder.some((key) => !/^-?(citations|url|responses|firstSeen)$/.test(key));
  const order = orderTerms(urlOrder, PAGE_KEYS);
  const rows = await query(
    `WITH cited AS NOT MATERIALIZED (SELECT t.* FROM ${table} WHERE ${where} AND t.url IS NOT NULL),
       listed AS (SELECT url, count(*) AS citations, count(DISTINCT response_id) AS responses,
         min((created_at, response_id, ordinal)) AS first_seen FROM cited GROUP BY url
         ${needsTitles ? mostCited(urlOrder, limit) : `ORDER BY ${order} LIMIT ${limit}`}),
       titled AS (SELECT cited.*, citations, responses, first_seen${
         urlTitle === 'frequent' ? ', count(*) OVER (PARTITION BY url, cited.title) AS times' : ''
       } FROM listed JOIN cited USING (url))
     SELECT url, arg_max(cited.domain, ${MOMENT}) AS domain, ${TITLES[urlTitle]} AS title, any_value(citations) AS citations,
       any_value(responses) AS responses, any_value(first_seen) AS first_seen
     FROM titled cited GROUP BY url ORDER BY ${order}${needsTitles ? ` LIMIT ${limit}` : ''}`,
    bindings.values,
  );
  return { beside: {}, rows: rows.map(([url, domain, title, citations]) => ({ url, domain, title, citations })) };
}

// Leaves out pages that cannot be listed because enough others have more citations.
function mostCited([first]: readonly string[], limit: string): string {
  return first === '-citations' ? `QUALIFY rank() OVER (ORDER BY count(*) DESC) <= ${limit}` : '';
}

function cited(request: ReportRequest, bindings: ReturnType<typeof createBindings>) {
  const { citations } = answerTables(request.catalogue);
  const conditions = selectionConditions(selectionOf(request), bindings);
  return { table: `${quoted(citations.name)} t`, where: conditions.join(' AND ') };
}

async function countAnswers(request: ReportRequest): Promise<number> {
  const { answers } = answerTables(request.catalogue);
  const bindings = createBindings();
  const where = selectionConditions(selectionOf(request), bindings).join(' AND ');
  const [row] = await request.query(`SELECT count(*) FROM ${quoted(answers.name)} t WHERE ${where}`, bindings.values);
  return Number(row?.[0] ?? 0);
}
