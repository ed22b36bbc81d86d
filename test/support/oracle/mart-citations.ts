import { idsOf, inPeriods } from './mart-answers.ts';
import { type Answer, cellsOf, count, groupBy, type Held, monthOf, type Row, ratio, scopesOf } from './rows.ts';

/** Hosts that the test has written into the warehouse, by brand; null if unknown. */
export interface Hosts {
  readonly own: string | null;
  /** By competitor. */
  readonly rivals: ReadonlyMap<string, readonly string[]>;
  /** What marks say, by host. */
  readonly said: Map<string, { readonly owner: string; readonly competitor_id: string | null }>;
}

/** Returns the expected rows of the marts about cited pages, by name. */
export function expectedCitations(
  { answers }: Held,
  hosts: ReadonlyMap<string, Hosts>,
  periods: readonly Row[],
): Record<string, Row[]> {
  const domains = domainsOf(answers, hosts);
  const ownerOf = (brand: string, domain: string): string =>
    domains.find((row) => row['brand_id'] === brand && row['domain'] === domain)?.['owner'];
  return {
    dim_domain: domains,
    fct_citation: answers.flatMap((answer) =>
      answer.citations.map(({ ordinal, position, url, domain, title }) => {
        return { ...idsOf(answer), ordinal, position, url, domain, title };
      }),
    ),
    citation_share: cellsOf(answers, 'week').flatMap(({ where, answers: own }) => {
      const cited = own.flatMap(({ citations }) => citations);
      return [...groupBy(cited, ({ domain }) => ownerOf(where['brand_id'], domain))].map(([owner, some]) => {
        const citations = { citations: some.length, citations_of_all: cited.length };
        return { ...where, owner, ...citations, share: some.length / cited.length };
      });
    }),
    source_gaps: gaps(answers, periods, ownerOf),
    own_pages: pages(answers, periods, ownerOf),
    mentioned_x_cited: cellsOf(answers, 'month')
      .filter(({ where }) => hosts.get(where['brand_id'])?.own !== null)
      .map(({ where, answers: own }) => ({ ...where, ...crossed(own, ownerOf) })),
    cited_domains_all: listed(
      answers,
      ({ domain }) => domain,
      ({ day }) => day,
    ).map(({ first, at, citations, answers: own }) => {
      const where = { brand_id: first.answer.brand, day: at, engine: first.answer.engine };
      return { ...where, domain: first.citation['domain'], citations, responses: own };
    }),
    cited_urls_all: listed(
      answers,
      ({ url }) => url,
      ({ day }) => monthOf(day),
    ).map(({ first, at, citations }) => {
      const { url, domain, title } = first.citation;
      const where = { brand_id: first.answer.brand, month: at, engine: first.answer.engine };
      return { ...where, url, domain, title, citations };
    }),
  };
}

function domainsOf(answers: readonly Answer[], hosts: ReadonlyMap<string, Hosts>): Row[] {
  const cited = answers.flatMap(({ brand, citations }) => citations.map(({ domain }) => `${brand} ${domain}`));
  return [...new Set(cited)].map((key) => {
    const [brand, domain] = key.split(' ') as [string, string];
    const { own, rivals, said } = hosts.get(brand) as Hosts;
    const isAt = (host: string): boolean => domain === host || domain.endsWith(`.${host}`);
    const marked = [...said].find(([host]) => isAt(host));
    if (marked !== undefined) return { brand_id: brand, domain, ...marked[1] };
    const rival = [...rivals]
      .filter(([, known]) => known.some(isAt))
      .map(([id]) => id)
      .sort()[0];
    const isOwned = own !== null && isAt(own);
    const other = rival !== undefined ? 'competitor' : 'unknown';
    return {
      brand_id: brand,
      domain,
      owner: isOwned ? 'owned' : other,
      competitor_id: isOwned ? null : (rival ?? null),
    };
  });
}

type OwnerOf = (brand: string, domain: string) => string;

function gaps(answers: readonly Answer[], periods: readonly Row[], ownerOf: OwnerOf): Row[] {
  return periods.flatMap((period) =>
    scopesOf(inPeriods(answers, period).recent).flatMap(({ where, answers: own }) => {
      const lost = own.filter(({ mentioned, mentions }) => !mentioned && mentions.length > 0);
      const domains = new Set(lost.flatMap(({ citations }) => citations.map(({ domain }) => domain)));
      return [...domains].map((domain) => {
        const cites = ({ citations }: Answer): boolean => citations.some((citation) => citation['domain'] === domain);
        return {
          brand_id: period['brand_id'],
          domain,
          owner: ownerOf(period['brand_id'], domain),
          ...where,
          gap_responses: count(lost, cites),
          gap_responses_of_all: lost.length,
          mentioning_responses: count(own, (answer) => answer.mentioned && cites(answer)),
          share: count(lost, cites) / lost.length,
        };
      });
    }),
  );
}

function pages(answers: readonly Answer[], periods: readonly Row[], ownerOf: OwnerOf): Row[] {
  return periods.flatMap((period) => {
    const { recent, before } = inPeriods(answers, period);
    const cited = [...before, ...recent]
      .flatMap((answer) => answer.citations.map((citation) => ({ answer, citation })))
      .filter(({ citation }) => ownerOf(period['brand_id'], citation['domain']) === 'owned');
    return [...groupBy(cited, ({ citation }) => citation['url'])].map(([url, some]) => {
      const now = count(some, ({ answer }) => recent.includes(answer));
      const then = some.length - now;
      return {
        brand_id: period['brand_id'],
        url,
        domain: some[0]?.citation['domain'],
        title: some[0]?.citation['title'],
        state: period['before_from'] === null ? 'cited' : then === 0 ? 'new' : now === 0 ? 'dropped' : 'kept',
        before_citations: period['before_from'] === null ? null : then,
        recent_citations: now,
        last_cited_at: Math.max(...some.map(({ answer }) => answer.at)),
      };
    });
  });
}

function crossed(own: readonly Answer[], ownerOf: OwnerOf): Row {
  const cites = ({ brand, citations }: Answer): boolean =>
    citations.some(({ domain }) => ownerOf(brand, domain) === 'owned');
  const [citing, others] = [own.filter(cites), own.filter((answer) => !cites(answer))];
  const mentions = (answers: readonly Answer[]): number => count(answers, ({ mentioned }) => mentioned);
  return {
    responses: own.length,
    mentioned_and_cited: mentions(citing),
    mentioned_only: mentions(others),
    cited_only: citing.length - mentions(citing),
    neither: others.length - mentions(others),
    mention_rate_cited: ratio(mentions(citing), citing.length),
    mention_rate_not_cited: ratio(mentions(others), others.length),
  };
}

function listed(answers: readonly Answer[], of: (citation: Row) => string, startOf: (answer: Answer) => string) {
  const cited = answers.flatMap((answer) => answer.citations.map((citation) => ({ answer, citation })));
  const keyOf = ({ answer, citation }: (typeof cited)[number]): string =>
    `${answer.brand} ${startOf(answer)} ${answer.engine} ${of(citation)}`;
  return [...groupBy(cited, keyOf).values()].map((some) => {
    const first = some[0] as (typeof cited)[number];
    const ids = new Set(some.map(({ answer }) => answer.id));
    return { first, at: startOf(first.answer), citations: some.length, answers: ids.size };
  });
}
