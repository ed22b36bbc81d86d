import type { ResourceTable } from '../../contract/tables.ts';
import { childOf, createBindings, keptConditions } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted, utc } from '../../warehouse/schema.ts';
import { listingOrder } from '../../warehouse/write/listings.ts';
import type { ReportRequest } from './report-request.ts';

/** A prompt, with the properties by which responses are filtered and grouped. */
export interface ListedPrompt {
  readonly id: string;
  readonly text: string | null;
  readonly isActive: boolean;
  readonly isDeleted: boolean;
  readonly createdAt: string | null;
  readonly topic: PromptGroup | null;
  readonly tags: readonly PromptGroup[];
  readonly funnelStage: string | null;
  readonly isBranded: boolean;
  /** Place in upstream's list of prompts, from 0. */
  readonly listed: number;
}

/** A topic or tag. */
export interface PromptGroup {
  readonly id: string;
  readonly name: string | null;
}

/** Reads the prompts of the brand in upstream's order, paused ones included; deleted ones come last. */
export async function readPromptList({
  catalogue,
  query,
  lists = query,
  brand,
}: ReportRequest): Promise<ListedPrompt[]> {
  const resource = catalogue.get('prompts');
  const table = resource.derived[0] as ResourceTable;
  const bindings = createBindings();
  const { join, orderBy } = listingOrder(resource.name, table, brand.id, bindings);
  const rows = await lists(
    `SELECT CAST(t.id AS VARCHAR), t.text, t._deleted_at IS NOT NULL, t.active IS DISTINCT FROM false, CAST(${utc('t.created_at')} AS VARCHAR),
       CAST(t.topic_id AS VARCHAR), t.topic_name, t.funnel_stage, coalesce(t.branded, false)
     FROM ${quoted(table.name)} t ${join} WHERE t.brand_id = CAST(${bindings.bind(brand.id)} AS UUID)
     ORDER BY t._deleted_at IS NOT NULL, ${orderBy}, t.id`,
    bindings.values,
  );
  const tags = await readTags(lists, brand.id, table);
  return rows.map(([id, text, isDeleted, isActive, createdAt, topicId, topicName, funnelStage, isBranded], listed) => ({
    id: String(id),
    text: text as string | null,
    isActive: isActive === true && isDeleted !== true,
    isDeleted: isDeleted === true,
    createdAt: createdAt as string | null,
    topic: topicId === null ? null : { id: String(topicId), name: topicName as string | null },
    tags: tags.get(String(id)) ?? [],
    funnelStage: funnelStage as string | null,
    isBranded: isBranded === true,
    listed,
  }));
}

/** Parameters that select prompts. */
const PROMPT_FILTERS = ['promptId', 'topicId', 'tagId', 'branded'] as const;

/** Whether a request selects prompts. */
export function filtersPrompts({ asked }: Pick<ReportRequest, 'asked'>): boolean {
  return PROMPT_FILTERS.some((name) => asked.values[name] !== undefined);
}

/** Whether a prompt belongs to its groups. */
export function isGrouped({ conventions }: Pick<ReportRequest, 'conventions'>, { isDeleted }: ListedPrompt): boolean {
  return !isDeleted || conventions.deletedPrompts === 'stay';
}

/** Returns the prompts that match the filters of a request. */
export function matchingPrompts(
  { asked, conventions }: Pick<ReportRequest, 'asked' | 'conventions'>,
  prompts: readonly ListedPrompt[],
): ListedPrompt[] {
  const { promptId, topicId, tagId, branded } = asked.values;
  const filtersGroups = [topicId, tagId, branded].some((value) => value !== undefined);
  return prompts.filter(
    (prompt) =>
      (promptId === undefined || prompt.id === promptId) &&
      (!filtersGroups || isGrouped({ conventions }, prompt)) &&
      (topicId === undefined || prompt.topic?.id === topicId) &&
      (tagId === undefined || prompt.tags.some(({ id }) => id === tagId)) &&
      (branded === undefined || prompt.isBranded === (branded === 'branded')),
  );
}

/** Returns the request without its filters by prompts. */
export function withoutPromptFilters<T extends Pick<ReportRequest, 'asked'>>(request: T): T {
  const values = { ...request.asked.values };
  for (const name of PROMPT_FILTERS) delete values[name];
  return { ...request, asked: { ...request.asked, values } };
}

async function readTags(lists: Query, brandId: string, prompts: ResourceTable): Promise<Map<string, PromptGroup[]>> {
  const bindings = createBindings();
  const table = childOf(prompts, 'tags');
  const where = keptConditions(prompts, table, brandId, bindings).join(' AND ');
  const rows = await lists(
    `SELECT CAST(x.prompt_id AS VARCHAR), CAST(x.tag_id AS VARCHAR), x.name FROM ${quoted(table.name)} x
     WHERE ${where} AND x.tag_id IS NOT NULL ORDER BY x.prompt_id, x.ordinal`,
    bindings.values,
  );
  const tags = new Map<string, PromptGroup[]>();
  for (const [promptId, id, name] of rows) {
    const own = tags.get(String(promptId)) ?? [];
    tags.set(String(promptId), own);
    if (!own.some((tag) => tag.id === id)) own.push({ id: String(id), name: name as string | null });
  }
  return tags;
}
