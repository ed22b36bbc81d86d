/**
 * Numerators and denominators of measures over responses, as SQL expressions. The metrics layer, the API's numbers, calibration and all SQL
 * files of analytics use these, so that no measure has two definitions; SQL files call them by name, like the other `formulas`.
 * `mentioned`, `position` and `label` are columns of a response about the brand; position and label count only if it is mentioned.
 */
export const responseSums = {
  /** 1 if the response mentions the brand, else 0: the summand of visibility and of share of voice. */
  mention: (mentioned: string) => `CAST(${mentioned} AS INTEGER)`,
  /** Sum of `mention`: the numerator of visibility, whose denominator is the number of responses. */
  mention_count: (mentioned: string) => `count(*) FILTER (${mentioned})`,
  /** Mentions in one response of the brand and of tracked competitors: the denominator of share of voice. `rivals` may be null. */
  voices: (mentioned: string, rivals: string) => `CAST(${mentioned} AS BIGINT) + coalesce(${rivals}, 0)`,
  /** Sum of the positions: the numerator of the mean position. */
  position_sum: (mentioned: string, position: string) =>
    `CAST(coalesce(sum(${position}) FILTER (${mentioned}), 0) AS BIGINT)`,
  /** Mentions with a position: the denominator of the mean position. */
  placed_count: (mentioned: string, position: string) => `count(${position}) FILTER (${mentioned})`,
  /** SELECT of `place`, the first position: 1, or the lowest position that upstream reports if that is lower. */
  first_place: () => `SELECT least(1, min(position)) AS place FROM (
    SELECT min(brand_position) AS position FROM main.responses WHERE brand_mentioned AND _deleted_at IS NULL
    UNION ALL
    SELECT min(position) FROM main.response_competitors WHERE _deleted_at IS NULL
  )`,
  /** Whether a position is the first one; needs a CTE `first_place` with `first_place()`. */
  is_first: (position: string) => `${position} = (SELECT place FROM first_place)`,
  /** Mentions with a label: the denominator of the mean sentiment is the sum over labels of known worth. */
  labelled_count: (mentioned: string, label: string) => `count(${label}) FILTER (${mentioned})`,
  /** The summand of net sentiment, from `lean` of mart.sentiment_label. */
  lean_value: (lean: string) => `CASE ${lean} WHEN 'positive' THEN 1 WHEN 'negative' THEN -1 ELSE 0 END`,
} satisfies Record<string, (...args: string[]) => string>;
