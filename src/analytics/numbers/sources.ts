import { createBindings } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { answerTables, selectionConditions } from './aggregate.ts';
import { share } from './definitions.ts';
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
     ORDER BY t.domain IS NULL, citations DESC, t.domain LIMIT ${bindings.bind(Number(asked.values['limit']))}`,
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

/** Returns the most cited pages, each with its latest title. */
export async function reportPages(request: ReportRequest): Promise<Report> {
  const { query, asked } = request;
  const bindings = createBindings();
  const { table, where } = cited(request, bindings);
  const limit = bindings.bind(Number(asked.values['limit']));
  // Equal times are ordered too, so that equal data always give equal titles. Only for the listed pages, because that is slower.
  const latest = '(cited.created_at, cited.response_id, cited.ordinal)';
  const rows = await query(
    `WITH cited AS NOT MATERIALIZED (SELECT t.* FROM ${table} WHERE ${where} AND t.url IS NOT NULL),
       listed AS (SELECT url, count(*) AS citations FROM cited GROUP BY url ORDER BY citations DESC, url LIMIT ${limit})
     SELECT url, arg_max(cited.domain, ${latest}), arg_max(cited.title, ${latest}), count(*) AS citations
     FROM listed JOIN cited USING (url) GROUP BY url ORDER BY citations DESC, url`,
    bindings.values,
  );
  return { beside: {}, rows: rows.map(([url, domain, title, citations]) => ({ url, domain, title, citations })) };
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
