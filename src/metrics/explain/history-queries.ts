/** Kinds of changes, in the order in which changes of the same time are listed. */
export const CHANGE_KINDS = [
  'prompt_lost',
  'prompt_won',
  'prompt_fell',
  'source_added',
  'alert',
  'article_added',
  'article_state',
  'thread_added',
  'thread_state',
  'plan_generated',
  'action_done',
  'prompt_added',
  'prompt_edited',
  'prompt_paused',
  'prompt_resumed',
  'prompt_moved',
  'prompt_deleted',
  'competitor_added',
  'competitor_renamed',
  'competitor_removed',
  'upstream_drift',
  'verification_failed',
] as const;

/** A kind of change. */
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Minimum number of responses that cite a new source. */
const CITING_LEAST = 3;

const inBrands = (alias = ''): string => `list_contains($2, CAST(${alias}brand_id AS VARCHAR))`;
const since = (column: string): string => `epoch_ms(${column}) >= $1`;
const id = (name: string, column = name): string => `json_object('${name}', CAST(${column} AS VARCHAR))`;

/** Returns the queries that find changes of these kinds; all of them for an empty list. Each names its kinds as texts. */
export function historyQueriesOf(kinds: readonly ChangeKind[]): readonly string[] {
  return kinds.length === 0 ? queries : queries.filter((sql) => kinds.some((kind) => sql.includes(`'${kind}'`)));
}

/**
 * SELECTs of changes since $1 (epoch milliseconds) of the brands $2. Columns: kind, time, brand, name, earlier state, later state, two
 * numbers, and the ids as JSON.
 */
const queries: readonly string[] = [
  `SELECT 'prompt_lost', epoch_ms(last_mentioned_at), brand_id, text, NULL, NULL, earlier_visibility, streak_responses, ${id('promptId', 'prompt_id')}
   FROM mart.lost_prompts WHERE scope = 'all engines' AND ${since('last_mentioned_at')} AND ${inBrands()}`,
  `SELECT if(m.change > 0, 'prompt_won', 'prompt_fell'), epoch_ms(CAST(p.anchor_day AS TIMESTAMP)), m.brand_id, m.text, NULL, NULL,
     m.before_visibility, m.recent_visibility, ${id('promptId', 'm.prompt_id')}
   FROM mart.prompt_movers m JOIN mart.periods p USING (brand_id)
   WHERE m.scope = 'all engines' AND ${since('CAST(p.anchor_day AS TIMESTAMP)')} AND ${inBrands('m.')}`,
  // Everything is new if the stored responses begin in the period.
  `SELECT 'source_added', any_value(f.first), c.brand_id, c.domain, NULL, NULL, count(DISTINCT c.response_id) AS responses, NULL,
     json_object('domain', c.domain)
   FROM mart.fct_citation c
   JOIN (
     SELECT brand_id, domain, min(epoch_ms(created_at)) AS first FROM mart.fct_citation
     WHERE domain IS NOT NULL AND ${inBrands()} GROUP BY brand_id, domain HAVING first >= $1
   ) f ON f.brand_id = c.brand_id AND f.domain = c.domain
   JOIN mart.dim_domain d ON d.brand_id = c.brand_id AND d.domain = c.domain AND d.owner <> 'owned'
   WHERE ${since('c.created_at')}
     AND c.brand_id IN (SELECT brand_id FROM mart.fct_response GROUP BY brand_id HAVING min(epoch_ms(created_at)) < $1)
   GROUP BY c.brand_id, c.domain HAVING responses >= ${CITING_LEAST}`,
  `SELECT 'alert', epoch_ms(detected_at), brand_id, headline, type, NULL, previous, current, ${id('alertId', 'alert_id')}
   FROM mart.fct_alert WHERE ${since('detected_at')} AND ${inBrands()}`,
  `SELECT 'article_added', epoch_ms(created_at), brand_id, title, NULL, status, NULL, NULL, ${id('articleId', 'article_id')}
   FROM mart.fct_article WHERE ${since('created_at')} AND ${inBrands()}`,
  stateChanges('article_state', 'article_states', 'article_id', 'fct_article', 'articleId'),
  `SELECT 'thread_added', epoch_ms(created_at), brand_id, title, type, status, NULL, NULL, ${id('opportunityId', 'opportunity_id')}
   FROM mart.fct_forum WHERE ${since('created_at')} AND ${inBrands()}`,
  stateChanges('thread_state', 'forum_states', 'opportunity_id', 'fct_forum', 'opportunityId'),
  `SELECT 'plan_generated', epoch_ms(generated_at), brand_id, prompt, NULL, NULL, lost, answers, ${id('promptId', 'prompt_id')}
   FROM mart.fct_action_plan WHERE generated_at IS NOT NULL AND ${since('generated_at')} AND ${inBrands()}`,
  `SELECT 'action_done', epoch_ms(valid_from), brand_id, title, NULL, NULL, NULL, NULL,
     json_object('promptId', CAST(prompt_id AS VARCHAR), 'actionId', action_id)
   FROM (
     SELECT *, lag(done) OVER (PARTITION BY brand_id, action_id ORDER BY valid_from) AS was_done FROM (
       SELECT brand_id, prompt_id, valid_from, action->>'id' AS action_id, action->>'title' AS title,
         coalesce(CAST(action->>'done' AS BOOLEAN), false) AS done
       FROM (
         SELECT brand_id, prompt_id, valid_from, unnest(from_json(_children->'action_plan_actions', '["JSON"]')) AS action
         FROM main.action_plans_history WHERE change <> 'deleted'
       )
     )
   ) WHERE done AND was_done = false AND ${since('valid_from')} AND ${inBrands()}`,
  `SELECT 'prompt_added', epoch_ms(created_at), brand_id, text, NULL, NULL, NULL, NULL, ${id('promptId', 'prompt_id')}
   FROM mart.dim_prompt WHERE is_listed AND ${since('created_at')} AND ${inBrands()}`,
  `SELECT kind, epoch_ms(valid_from), brand_id, name, was, became, NULL, NULL, ${id('promptId', 'prompt_id')}
   FROM (
     SELECT *, unnest([
       CASE WHEN text IS DISTINCT FROM old_text THEN {kind: 'prompt_edited', name: text, was: old_text, became: text} END,
       CASE WHEN old_active AND NOT active THEN {kind: 'prompt_paused', name: text, was: NULL, became: NULL} END,
       CASE WHEN NOT old_active AND active THEN {kind: 'prompt_resumed', name: text, was: NULL, became: NULL} END,
       CASE WHEN topic_id IS DISTINCT FROM old_topic THEN {kind: 'prompt_moved', name: text, was: old_topic_name, became: topic_name} END
     ], recursive := true)
     FROM (
       SELECT *, lag(text) OVER versions AS old_text, lag(active) OVER versions AS old_active, lag(topic_id) OVER versions AS old_topic,
         lag(topic_name) OVER versions AS old_topic_name, row_number() OVER versions AS version
       FROM mart.dim_prompt_history WINDOW versions AS (PARTITION BY brand_id, prompt_id ORDER BY valid_from)
     ) WHERE version > 1
   ) WHERE kind IS NOT NULL AND ${since('valid_from')} AND ${inBrands()}`,
  `SELECT 'prompt_deleted', epoch_ms(valid_from), brand_id, text, NULL, NULL, NULL, NULL, ${id('promptId', 'id')}
   FROM main.prompts_history WHERE change = 'deleted' AND ${since('valid_from')} AND ${inBrands()}`,
  // The competitors of the first sync were not added then.
  `SELECT CASE WHEN change = 'deleted' THEN 'competitor_removed' WHEN change = 'updated' THEN 'competitor_renamed' ELSE 'competitor_added' END,
     epoch_ms(valid_from), brand_id, name, old_name, name, NULL, NULL, ${id('competitorId', 'id')}
   FROM (
     SELECT *, lag(name) OVER (PARTITION BY brand_id, id ORDER BY valid_from) AS old_name,
       min(valid_from) OVER (PARTITION BY brand_id) AS first_sync
     FROM main.competitors_history
   ) WHERE valid_from > first_sync AND ${since('valid_from')} AND ${inBrands()}
     AND (change <> 'updated' OR name IS DISTINCT FROM old_name)`,
  `SELECT 'upstream_drift', epoch_ms(first_seen_at), NULL, path, kind, detail, count, NULL, json_object('resource', resource, 'path', path)
   FROM sync.drift WHERE ${since('first_seen_at')} AND $2 IS NOT NULL`,
  `SELECT 'verification_failed', max(epoch_ms(verified_at)), brand_id, measure, NULL, NULL, count(*), NULL, json_object('measure', measure)
   FROM sync.verifications WHERE NOT agrees AND ${since('verified_at')} AND (brand_id IS NULL OR ${inBrands()}) GROUP BY brand_id, measure`,
];

// The first state of an item is not a change.
function stateChanges(kind: ChangeKind, states: string, key: string, facts: string, name: string): string {
  return `SELECT '${kind}', epoch_ms(s.since), s.brand_id, f.title, s.was, s.status, NULL, NULL, ${id(name, `s.${key}`)}
   FROM (SELECT *, lag(status) OVER (PARTITION BY brand_id, ${key} ORDER BY since) AS was FROM mart.${states}) s
   LEFT JOIN mart.${facts} f USING (brand_id, ${key})
   WHERE NOT s.is_first AND ${since('s.since')} AND ${inBrands('s.')}`;
}
