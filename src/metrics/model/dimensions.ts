import { z } from 'zod';
import type { ValueOf } from '../../contract/operation/json-parts.ts';

/** A column of a result. */
export const modelColumn = z.object({
  name: z.string(),
  type: z.string().describe('SQL type as DuckDB names it'),
  about: z.string(),
});

/** A column of a result. */
export type ModelColumn = ValueOf<typeof modelColumn>;

/** Names of the dimensions, as a choice. */
export const dimensionName = z.enum([
  'brand',
  'engine',
  'topic',
  'tag',
  'funnel_stage',
  'branded',
  'prompt',
  'entity',
  'domain',
  'owner',
  'source',
]);

/** Name of a dimension. */
export type DimensionName = z.infer<typeof dimensionName>;

/** A dimension as programs read it. */
export const describedDimension = z.object({
  name: dimensionName,
  label: z.string(),
  about: z.string(),
  columns: z.array(modelColumn),
});

/** A property by which values are grouped. */
export interface Dimension extends ValueOf<typeof describedDimension> {
  /** The table with its values, and the columns that join the facts with it. */
  readonly table: string;
  readonly join: readonly string[];
  /** The column that identifies a value among `columns`; the others are names. */
  readonly key: string;
  /** The value of `groupBy` in mart.dim_prompt_group, for groups of prompts. */
  readonly groupBy?: string;
}

const text = (name: string, about: string): ModelColumn => ({ name, type: 'VARCHAR', about });
const uuid = (name: string, about: string): ModelColumn => ({ name, type: 'UUID', about });

const citedDomains = { table: 'mart.dim_domain', join: ['brand_id', 'domain'] } as const;
const prompts = { table: 'mart.dim_prompt_group', join: ['brand_id', 'prompt_id'] } as const;

/** The dimensions, in the order of lists. */
export const dimensions: readonly Dimension[] = [
  {
    name: 'brand',
    label: 'Brand',
    about: 'Brands of the workspace.',
    table: 'mart.dim_brand',
    join: ['brand_id'],
    columns: [uuid('brand_id', 'The brand.'), text('brand', 'Name of the brand.')],
    key: 'brand_id',
  },
  {
    name: 'engine',
    label: 'Engine',
    about: 'AI engines.',
    table: 'mart.dim_engine',
    join: ['engine'],
    columns: [text('engine', 'Engine slug.')],
    key: 'engine',
  },
  {
    ...prompts,
    name: 'topic',
    label: 'Topic',
    about: 'Current topics of the current prompts. Responses of prompts without a topic are excluded.',
    columns: [text('topic_id', 'The topic.'), text('topic', 'Name of the topic.')],
    key: 'topic_id',
    groupBy: 'topic',
  },
  {
    ...prompts,
    name: 'tag',
    label: 'Tag',
    about: 'Current tags of the current prompts. A response counts in every tag of its prompt.',
    columns: [text('tag_id', 'The tag.'), text('tag', 'Name of the tag.')],
    key: 'tag_id',
    groupBy: 'tag',
  },
  {
    ...prompts,
    name: 'funnel_stage',
    label: 'Funnel stage',
    about: 'Current funnel stages of the current prompts.',
    columns: [text('funnel_stage', 'Funnel stage.')],
    key: 'funnel_stage',
    groupBy: 'funnelStage',
  },
  {
    ...prompts,
    name: 'branded',
    label: 'Branded',
    about: 'Whether the current prompt names the brand.',
    columns: [text('branded', 'branded or non-branded.')],
    key: 'branded',
    groupBy: 'branded',
  },
  {
    name: 'prompt',
    label: 'Prompt',
    about: 'Current prompts. Responses of deleted prompts are excluded.',
    table: 'main.prompts',
    join: ['brand_id', 'prompt_id'],
    columns: [uuid('prompt_id', 'The prompt.'), text('prompt', 'Text of the prompt.')],
    key: 'prompt_id',
  },
  {
    name: 'entity',
    label: 'Brand and competitors',
    about:
      'The brand and its currently tracked competitors, also those without mentions. Requires one brand, or the dimension brand.',
    table: 'mart.dim_competitor',
    join: ['brand_id', 'competitor_id'],
    columns: [
      text('entity_type', 'brand or competitor.'),
      uuid('competitor_id', 'The competitor; null for the brand.'),
      text('entity', 'Name of the brand or competitor.'),
    ],
    key: 'competitor_id',
  },
  {
    ...citedDomains,
    name: 'domain',
    label: 'Cited domain',
    about: 'Domains that responses cite.',
    columns: [text('domain', 'The domain.')],
    key: 'domain',
  },
  {
    ...citedDomains,
    name: 'owner',
    label: 'Owner of the cited domain',
    about: 'owned, competitor, forum, press, third party, or unknown without a website or a mark.',
    columns: [text('owner', 'owned, competitor, forum, press, third party or unknown.')],
    key: 'owner',
  },
  {
    name: 'source',
    label: 'Source of traffic',
    about: 'AI assistants that refer visits.',
    table: 'mart.fct_traffic_daily',
    join: ['source'],
    columns: [text('source', 'The assistant that referred the visits.')],
    key: 'source',
  },
];

/** The column of the periods of a series. */
export const periodColumn: ModelColumn = { name: 'period', type: 'DATE', about: 'First day of the period (UTC).' };
