/** A prompt: a prepared task for a model. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** Arguments with their description. An argument without `standard` is required; `standard` is the text if it is left out. */
  readonly arguments: Readonly<Record<string, { readonly about: string; readonly standard?: string }>>;
  /** Text of the message. `{name}` stands for the value of an argument as a JSON string, or for its `standard`. */
  readonly text: string;
}

const brand = { about: 'Name or id of the brand.' };
const to = { about: 'Last day, YYYY-MM-DD; default: the last complete one.', standard: 'the last complete day' };

/** Rules that end the text of every prompt. */
export const RULES = `Leave out a step if you do not have its tool. Make more calls if a result raises a question.

Numbers:
- Write each share or mean with its n and its 95 % interval, such as "42 % (n = 310, 37 % to 48 %)". Take them from the columns \`_n\` and \`_interval\`.
- Report a change only if \`_significant\` is true, or if its \`verdict\` in \`explain_change\` is \`significant\`. Describe all other changes as within noise, and do not draw conclusions from them.
- If \`_sightline.coverage\` is \`partial\`, state that beside the numbers, because they may be too low. Name the last complete day, \`completeTo\`.
- A lower position is better. Associations are not causes.
- Support each statement about single responses with ids from \`evidence\`. Add the \`url\` of a result if it has one.
- If a call does not return rows, state that data are missing. Do not estimate numbers.`;

/** The prompts, in the order of lists. */
export const prompts: readonly Prompt[] = [
  {
    name: 'weekly_brand_brief',
    title: 'Weekly brand brief',
    about:
      'A one-page brief about the last 7 complete days of a brand: numbers, causes of changes, events, next steps.',
    arguments: { brand, to },
    text: `Write the weekly brief of the brand {brand} for its marketing team.

The week is the 7 complete days up to {to}. Add its \`from\` and \`to\` to the steps 1 to 4, and its first day as \`since\` to step 5. Ignore events after the week.

1. The scores of the week, and the tested change: query_metrics {"metrics": ["visibility", "share_of_voice", "position", "sentiment"], "brand": [{brand}], "compare_to": "previous"}
2. The visibility in each engine: query_metrics {"metrics": ["visibility"], "group_by": ["engine"], "brand": [{brand}], "compare_to": "previous", "order": ["-visibility"]}
3. The brand among its competitors: query_metrics {"metrics": ["visibility", "share_of_voice", "position"], "group_by": ["entity"], "brand": [{brand}], "compare_to": "previous", "order": ["-visibility"], "limit": 10}
4. The causes of the change: explain_change {"metric": "visibility", "brand": {brand}}
5. The events of the week: what_changed {"since": "7d", "brand": [{brand}]}
6. The next steps: find_opportunities {"brand": {brand}, "limit": 5}

Result, in this order:
1. Two sentences with the state of the week, and whether anything changed beyond noise.
2. A table of the scores: this week, the week before, n, interval, verdict.
3. Engines and competitors: only changes beyond noise.
4. Causes of the change, or the statement that it is noise.
5. At most five events and at most three next steps, each with its evidence.`,
  },
  {
    name: 'competitor_deep_dive',
    title: 'Competitor deep dive',
    about: 'A comparison of a brand with one competitor over 28 days: engines, topics, prompts, and cited domains.',
    arguments: { brand, competitor: { about: 'Name or id of a competitor of the brand.' }, to },
    text: `Compare the brand {brand} with its competitor {competitor}.

The period is the 28 days up to {to}. Add its \`from\` and \`to\` to all calls.

1. The brand and the competitor among all competitors: query_metrics {"metrics": ["visibility", "share_of_voice", "position", "sentiment"], "group_by": ["entity"], "brand": [{brand}], "compare_to": "previous", "order": ["-visibility"]}
2. The brand and the competitor in each engine; ignore other competitors: query_metrics {"metrics": ["visibility", "position"], "group_by": ["entity", "engine"], "brand": [{brand}]}
3. Topics of the responses that mention the competitor, with the visibility of the brand in them: query_metrics {"metrics": ["responses", "visibility"], "group_by": ["topic"], "brand": [{brand}], "where": {"competitor": {competitor}}, "order": ["visibility"]}
4. Prompts of these responses, those without the brand first: query_metrics {"metrics": ["responses", "visibility"], "group_by": ["prompt"], "brand": [{brand}], "where": {"competitor": {competitor}}, "order": ["visibility", "-responses"], "limit": 20}
5. Domains that these responses cite: query_metrics {"metrics": ["citing_responses"], "group_by": ["domain"], "brand": [{brand}], "where": {"competitor": {competitor}}, "order": ["-citing_responses"], "limit": 20}
6. Prompts that competitors win, and domains cited for competitors only: find_opportunities {"brand": {brand}, "kind": ["competitor_wins", "source_gap"]}

Result, in this order:
1. Two sentences: the visibility of both with their intervals and n, and the tested change of each since the days before. The difference of the two is not tested: do not claim that it is significant or noise.
2. A table of both: visibility, share of voice, position, sentiment, with n, interval and tested change.
3. Engines and topics with the greatest differences: both values with interval and n, without a claim about noise.
4. At most five prompts that the competitor wins, with ids of responses.
5. Domains that support the competitor, and what to do about them.`,
  },
  {
    name: 'explain_alert',
    title: 'Explain alert',
    about: 'Whether the stored responses support an alert, and what caused it.',
    arguments: {
      brand,
      alert: { about: 'Headline or id of an alert of the brand; default: the newest.', standard: 'the newest one' },
    },
    text: `Explain an alert of the brand {brand}: {alert}.

1. The alert with its id, day and detail: list_alerts {"brandId": {brand}}
2. The days around the alert, from 7 days before its day to 6 days after it: query_metrics {"metrics": ["visibility", "responses"], "grain": "day", "brand": [{brand}]}
3. The causes of the change of visibility since the 7 days before it; set \`from\`, \`to\`, \`before_from\` and \`before_to\`: explain_change {"metric": "visibility", "brand": {brand}}
4. The visibility in each engine in these days: query_metrics {"metrics": ["visibility"], "group_by": ["engine"], "grain": "week", "brand": [{brand}]}
5. If the alert names a competitor, the same call without groups and with {"where": {"competitor": NAME}}. If it names a domain, the metric \`citing_responses\` by \`domain\`.
6. Other events of these days; set \`since\`: what_changed {"since": "30d", "brand": [{brand}]}

Result, in this order:
1. One sentence: the stored responses support the alert, contradict it, or are too few to decide.
2. The numbers before and after, with n, interval and p.
3. The causes, the largest effect first, with ids of responses, or the statement that the change is noise.
4. Events that may be related, without a claim of cause.
5. One next step.`,
  },
  {
    name: 'content_gaps',
    title: 'Content gaps',
    about:
      'Content that a brand lacks: weak topics and prompts, domains cited for competitors only, forum threads, own pages.',
    arguments: { brand, to },
    text: `Find the content that the brand {brand} lacks.

The period is the 28 days up to {to}. Add its \`from\` and \`to\` to the steps 1 to 5.

1. Domains cited for competitors only, and prompts that competitors win: find_opportunities {"brand": {brand}, "kind": ["source_gap", "competitor_wins"]}
2. Forum threads that engines cite, and own pages that are cited once: find_opportunities {"brand": {brand}, "kind": ["forum_thread", "page_cited_once"]}
3. Topics, the weakest first: query_metrics {"metrics": ["visibility", "responses"], "group_by": ["topic"], "brand": [{brand}], "order": ["visibility"]}
4. Prompts, the weakest first: query_metrics {"metrics": ["visibility", "responses"], "group_by": ["prompt"], "brand": [{brand}], "order": ["visibility", "-responses"], "limit": 20}
5. Owners of the cited domains: query_metrics {"metrics": ["citation_share", "citations"], "group_by": ["owner"], "brand": [{brand}], "order": ["-citations"]}
6. Articles that already exist or are planned: list_articles {"brandId": {brand}}

Result, in this order:
1. Two sentences: the greatest gap, and its size in responses.
2. A table of at most ten gaps: topic or prompt, n, visibility with interval, the domain or page that is cited instead.
3. For each gap: a new article, a change of an existing page, or an entry on a cited domain or thread.
4. Gaps that an existing article already covers, with its state.`,
  },
  {
    name: 'data_quality_check',
    title: 'Data quality check',
    about: 'Whether the data are complete and current enough to report numbers.',
    arguments: { brand: { about: 'Name or id of a brand; default: all.', standard: 'all brands' }, to },
    text: `Check the data of a workspace before numbers are reported, for {brand}.

The period is the 14 days up to {to}. Add its \`from\` and \`to\` to the steps 1 and 2, and its first day as \`since\` to step 3. For one brand, add \`brand\` to the steps 1 to 3.

1. Responses of each day and brand; a missing or low day is a gap: query_metrics {"metrics": ["responses"], "group_by": ["brand"], "grain": "day", "order": ["brand", "period"]}
2. Responses of each engine in these days and before: query_metrics {"metrics": ["responses"], "group_by": ["brand", "engine"], "compare_to": "previous"}
3. Changes of the set of prompts and competitors, drift of the API, and failed verifications: what_changed {"since": "14d", "limit": 100}
4. The newest sync runs: query {"sql": "SELECT kind, status, started_at, ended_at FROM sync.runs ORDER BY started_at DESC LIMIT 10"}
5. Items that could not be stored: query {"sql": "SELECT count(*) AS items FROM sync.quarantine"}
6. Brands, as the API reports them: list_brands {}

Result, in this order:
1. One sentence: the last day and the brands for which numbers can be reported.
2. A table of problems: brand, days, engine, effect on the numbers. If there are no problems, state that.
3. Changes of the set of prompts that make periods incomparable.
4. The next step for each problem, such as a sync or a verification.`,
  },
];
