import { type Dimension, type DimensionName, dimensions } from '../model/dimensions.ts';
import { responseSums } from '../model/response-sums.ts';

/** Use of a column of a dataset. */
type Role =
  /** Identifies a row, or joins it with other datasets. */
  | 'id'
  /** Groups and filters rows. */
  | 'dimension'
  /** Day of the row. */
  | 'time'
  /** A value that measures add up. */
  | 'summand';

/** A column of an exported dataset. */
export interface ExportedColumn {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly role: Role;
}

/** A join with the rows of another dataset that have the same values in `columns`; at most one row matches. */
interface Relation {
  readonly to: string;
  readonly columns: readonly string[];
}

/** A SELECT over tables of the replica, on which MetricFlow defines dimensions and measures. */
export interface ExportedDataset {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly sql: string;
  /** Columns that identify a row. */
  readonly key: readonly string[];
  readonly columns: readonly ExportedColumn[];
  readonly relations: readonly Relation[];
}

/** Dimensions that are not exported, with reasons. */
export const unexportedDimensions: Partial<Record<DimensionName, string>> = {
  tag: 'A response counts in every tag of its prompt. Tools that join each response with at most one prompt cannot express that.',
};

/** The day of a row. */
export const DAY = 'day';

/** Joins of a response `r`: `p` with the first place, and `v` with its mentions. */
const FIRST_PLACE = `CROSS JOIN (
  ${responseSums.first_place()}
) p`;
const VOICES = `LEFT JOIN (
  SELECT response_id, count(*) AS voices FROM mart.fct_entity_mention GROUP BY response_id
) v ON v.response_id = r.response_id`;

/** The datasets: dimensions first, then facts. */
export const exportedDatasets: readonly ExportedDataset[] = [
  {
    name: 'brands',
    label: 'Brands',
    about: 'Current brands: one row per brand.',
    sql: 'SELECT brand_id, name AS brand FROM mart.dim_brand',
    key: ['brand_id'],
    columns: columnsOf('brand'),
    relations: [],
  },
  {
    name: 'prompts',
    label: 'Prompts',
    about: 'Current prompts with their current groups: one row per brand and prompt.',
    sql: promptsSql(),
    key: ['brand_id', 'prompt_id'],
    columns: [
      id('brand_id', 'The brand.'),
      ...['prompt' as const, ...promptGroups()].flatMap((name) => columnsOf(name)),
    ],
    relations: [],
  },
  {
    name: 'domains',
    label: 'Cited domains',
    about: 'Domains that responses cite, with their owners: one row per brand and domain.',
    sql: 'SELECT brand_id, domain, owner FROM mart.dim_domain',
    key: ['brand_id', 'domain'],
    columns: [id('brand_id', 'The brand.'), id('domain', 'The domain.'), ...columnsOf('owner')],
    relations: [],
  },
  {
    name: 'responses',
    label: 'Responses',
    about: 'Responses of AI engines: one row per response.',
    sql: `SELECT r.response_id, r.brand_id, r.prompt_id, r.engine, r.day,
  r.brand_mentioned AS mentioned, r.brand_position AS position,
  ${labelColumns()}, p.place AS first_place,
  coalesce(v.voices, 0) AS voices, b.has_sites,
  coalesce(c.citations, 0) AS citations, coalesce(c.named_citations, 0) AS named_citations,
  coalesce(c.own_citations, 0) AS own_citations
FROM mart.fct_response r
JOIN mart.dim_brand b ON b.brand_id = r.brand_id
${FIRST_PLACE}
LEFT JOIN mart.sentiment_label l ON l.label = r.brand_sentiment
${VOICES}
LEFT JOIN (
  SELECT c.response_id, count(*) AS citations, count(c.domain) AS named_citations,
    count(*) FILTER (d.owner = 'owned') AS own_citations
  FROM mart.fct_citation c
  LEFT JOIN mart.dim_domain d ON d.brand_id = c.brand_id AND d.domain = c.domain
  GROUP BY c.response_id
) c ON c.response_id = r.response_id`,
    key: ['response_id'],
    columns: [
      ...responseColumns(),
      ...mentionColumns(),
      summand('has_sites', 'Whether a site of the brand is known.'),
      summand('citations', 'Pages that the response cites.'),
      summand('named_citations', 'Citations that name a domain.'),
      summand('own_citations', "Citations of the brand's pages."),
    ],
    relations: ofResponse(),
  },
  {
    name: 'entity_responses',
    label: 'Responses by brand and competitor',
    about:
      'One row per response and entity: the brand and each currently tracked competitor, also if the response does not mention it. Group by the entity; otherwise each response counts once per entity.',
    sql: `SELECT r.response_id, r.brand_id, r.prompt_id, r.engine, r.day,
  coalesce(e.competitor_id, e.brand_id) AS entity_id, e.entity_type, e.competitor_id, e.entity,
  m.response_id IS NOT NULL AS mentioned, m.position,
  ${labelColumns()}, p.place AS first_place, coalesce(v.voices, 0) AS voices
FROM mart.fct_response r
JOIN (
  SELECT brand_id, 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, name AS entity FROM mart.dim_brand
  UNION ALL SELECT brand_id, 'competitor', competitor_id, name FROM mart.dim_competitor
) e ON e.brand_id = r.brand_id
${FIRST_PLACE}
LEFT JOIN mart.fct_entity_mention m ON m.response_id = r.response_id AND m.entity_type = e.entity_type
  AND m.competitor_id IS NOT DISTINCT FROM e.competitor_id
LEFT JOIN mart.sentiment_label l ON l.label = m.sentiment
${VOICES}`,
    key: ['response_id', 'entity_id'],
    columns: [
      ...responseColumns(),
      id('entity_id', 'The competitor, or the brand itself.'),
      ...columnsOf('entity'),
      ...mentionColumns(),
    ],
    relations: ofResponse(),
  },
  {
    name: 'cited_domains',
    label: 'Responses by cited domain',
    about: 'One row per response and domain that it cites.',
    sql: `SELECT r.response_id, r.brand_id, r.prompt_id, r.engine, r.day, c.domain, count(*) AS cited
FROM mart.fct_response r
JOIN mart.fct_citation c ON c.response_id = r.response_id
WHERE c.domain IS NOT NULL
GROUP BY ALL`,
    key: ['response_id', 'domain'],
    columns: [...responseColumns(), ...columnsOf('domain'), summand('cited', 'Citations of the domain.')],
    relations: [...ofResponse(), { to: 'domains', columns: ['brand_id', 'domain'] }],
  },
  {
    name: 'traffic',
    label: 'Traffic from AI assistants',
    about: 'One row per brand, day and source of visits.',
    sql: `SELECT brand_id, day, source, coalesce(sessions, 0) AS sessions, coalesce(key_events, 0) AS key_events,
  coalesce(revenue, 0) AS revenue
FROM mart.fct_traffic_daily`,
    key: ['brand_id', DAY, 'source'],
    columns: [
      id('brand_id', 'The brand.'),
      day("Day in the analytics property's time zone."),
      ...columnsOf('source'),
      summand('sessions', 'Sessions.'),
      summand('key_events', 'Key events.'),
      summand('revenue', "Revenue, in the currency of the brand's analytics property."),
    ],
    relations: [{ to: 'brands', columns: ['brand_id'] }],
  },
];

function responseColumns(): ExportedColumn[] {
  return [
    id('response_id', 'The response.'),
    id('brand_id', 'The brand.'),
    id('prompt_id', 'The prompt that was asked.'),
    ...columnsOf('engine'),
    day('Day of the response (UTC).'),
  ];
}

function mentionColumns(): ExportedColumn[] {
  return [
    summand('mentioned', 'Whether the response mentions the brand or entity.'),
    summand('position', 'Position of the mention. 1 is first.'),
    summand('worth', 'Worth of the sentiment label of the mention.'),
    summand('lean', '1 for a positive mention, 0 for a neutral and -1 for a negative one.'),
    summand('first_place', 'The lowest position that upstream reports, at most 1.'),
    summand('voices', 'Mentions of the brand and all currently tracked competitors in the response.'),
  ];
}

function labelColumns(): string {
  return `l.worth, CASE WHEN l.lean IN ('positive', 'neutral', 'negative') THEN ${responseSums.lean_value('l.lean')} END AS lean`;
}

function ofResponse(): Relation[] {
  return [
    { to: 'brands', columns: ['brand_id'] },
    { to: 'prompts', columns: ['brand_id', 'prompt_id'] },
  ];
}

function promptGroups(): DimensionName[] {
  return dimensions
    .filter(({ name, groupBy }) => groupBy !== undefined && unexportedDimensions[name] === undefined)
    .map(({ name }) => name);
}

function promptsSql(): string {
  const columns = promptGroups().flatMap((name) => {
    const { groupBy, key } = dimensionOf(name);
    const found = (column: string): string => `max(g.${column}) FILTER (g.group_by = '${groupBy}')`;
    return dimensionOf(name).columns.map(
      (column) => `${found(column.name === key ? 'group_id' : 'name')} AS ${column.name}`,
    );
  });
  return `SELECT p.brand_id, p.prompt_id, p.text AS prompt,
  ${columns.join(',\n  ')}
FROM mart.dim_prompt p
LEFT JOIN mart.dim_prompt_group g ON g.brand_id = p.brand_id AND g.prompt_id = p.prompt_id
WHERE p.is_listed
GROUP BY ALL`;
}

function columnsOf(name: DimensionName): ExportedColumn[] {
  const { columns, label, key } = dimensionOf(name);
  return columns.map((column) => ({
    name: column.name,
    label: column.name === name ? label : labelOf(column.name),
    about: column.about,
    role: column.name === key && key.endsWith('_id') ? 'id' : 'dimension',
  }));
}

function dimensionOf(name: DimensionName): Dimension {
  const found = dimensions.find((dimension) => dimension.name === name);
  if (found === undefined) throw new TypeError(`no dimension ${name}`);
  return found;
}

function id(name: string, about: string): ExportedColumn {
  return { name, label: labelOf(name), about, role: 'id' };
}

function day(about: string): ExportedColumn {
  return { name: DAY, label: 'Day', about, role: 'time' };
}

function summand(name: string, about: string): ExportedColumn {
  return { name, label: labelOf(name), about, role: 'summand' };
}

function labelOf(name: string): string {
  const words = name.replace(/_id$/, ' ID').replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
