import type { ResourceTable } from '../../contract/tables.ts';
import { childOf, createBindings, liveConditions } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { listingOrder } from '../../warehouse/write/listings.ts';
import type { GroupTally } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share, visibilityChange } from './definitions.ts';
import { tallyPrompts } from './prompts.ts';
import { mentionsOfAll, nothing, type Report, type ReportRequest } from './report-request.ts';

interface Group {
  readonly groupId: string | null;
  readonly name: string | null;
  /** Ids of the group's current prompts. */
  readonly prompts: readonly string[];
}

interface Grouped {
  readonly promptId: string;
  readonly key: string | null;
  readonly name: string | null;
}

/** Returns a row per group with responses in the range. Prompts count in their current groups, and in every tag. */
export async function reportGroups(request: ReportRequest): Promise<Report> {
  const { conventions, asked } = request;
  const by = String(asked.values['groupBy']);
  const { now, before } = await tallyPrompts(request);
  const groups = await readGroups(request, by);
  const rows = groups.flatMap(({ groupId, name, prompts }) => {
    const answered = prompts.filter((id) => (now.get(id)?.own.responses ?? 0) > 0);
    const group = sum(answered.flatMap((id) => now.get(id) ?? []));
    const { own } = group;
    if (own.responses === 0) return [];
    const earlier = prompts.reduce((total, id) => add(total, before.get(id)?.own ?? nothing), nothing);
    return [
      {
        groupId,
        name,
        prompts: conventions.groupPrompts === 'all' ? prompts.length : answered.length,
        responses: own.responses,
        visibility: share(conventions, conventions.visibility, own.mentions, own.responses),
        visibilityChange: visibilityChange(conventions, own, earlier),
        avgPosition: avgPosition(conventions, own),
        sentiment: sentiment(conventions, own),
        shareOfVoice: share(conventions, conventions.shareOfVoice, own.mentions, mentionsOfAll(request.brand, group)),
      },
    ];
  });
  return { beside: { from: asked.from, to: asked.to, groupBy: by }, rows };
}

async function readGroups(request: ReportRequest, by: string): Promise<Group[]> {
  const { ungrouped } = request.conventions;
  const grouped = await readGrouped(request, by);
  const keys = await readKeys(request, by, grouped);
  const groups = keys.map(({ key, groupId, name }) => ({
    groupId,
    name,
    prompts: grouped.filter((prompt) => prompt.key === key).map(({ promptId }) => promptId),
  }));
  const others = grouped.filter(({ key }) => key === null).map(({ promptId }) => promptId);
  return ungrouped === null ? groups : [...groups, { ...ungrouped, prompts: others }];
}

// Returns one row per current prompt and group.
async function readGrouped({ catalogue, query, brand }: ReportRequest, by: string): Promise<Grouped[]> {
  const table = catalogue.get('prompts').derived[0] as ResourceTable;
  const bindings = createBindings();
  const live = liveConditions('t', brand.id, bindings).join(' AND ');
  const from = `FROM ${quoted(table.name)} t`;
  const columns: Readonly<Record<string, string>> = {
    topic: `SELECT t.id, CAST(t.topic_id AS VARCHAR), t.topic_name ${from} WHERE ${live}`,
    tag: `SELECT t.id, CAST(g.tag_id AS VARCHAR), g.name ${from} LEFT JOIN ${quoted(childOf(table, 'tags').name)} g
      ON g.brand_id = t.brand_id AND g.prompt_id = t.id AND g._deleted_at IS NULL WHERE ${live}`,
    funnelStage: `SELECT t.id, t.funnel_stage, t.funnel_stage ${from} WHERE ${live}`,
    branded: `SELECT t.id, CASE WHEN t.branded THEN 'true' ELSE 'false' END, NULL ${from} WHERE ${live}`,
  };
  const rows = await query(
    `SELECT DISTINCT CAST(id AS VARCHAR), * EXCLUDE (id) FROM (${columns[by]}) ORDER BY ALL`,
    bindings.values,
  );
  return rows.map(([promptId, key, name]) => ({
    promptId: String(promptId),
    key: key as string | null,
    name: name as string | null,
  }));
}

interface Key {
  /** The value in the prompts table. */
  readonly key: string;
  /** The value in the report's row. */
  readonly groupId: string;
  readonly name: string | null;
}

async function readKeys(request: ReportRequest, by: string, grouped: readonly Grouped[]): Promise<Key[]> {
  const { brandedGroups } = request.conventions;
  switch (by) {
    case 'branded':
      return (['true', 'false'] as const).map((key) => ({ key, ...brandedGroups[key] }));
    case 'funnelStage': {
      const stages = [...new Set(grouped.flatMap(({ key }) => key ?? []))].sort();
      const names = await readReportedNames(request, by);
      return stages.map((key) => ({ key, groupId: key, name: names.get(key) ?? key }));
    }
    default: {
      const listed = await readListed(request, by === 'tag' ? 'tags' : 'topics');
      const known = new Set(listed.map(({ key }) => key));
      // Prompts may refer to groups that the list of groups lacks.
      const more = new Map(grouped.flatMap(({ key, name }) => (key === null || known.has(key) ? [] : [[key, name]])));
      return [...listed, ...[...more].map(([key, name]) => ({ key, groupId: key, name }))];
    }
  }
}

async function readListed({ catalogue, query, brand }: ReportRequest, list: string): Promise<Key[]> {
  const resource = catalogue.get('prompt_groups');
  const table = resource.derived.find(({ declaration: { at } }) => at !== 'body' && at.list === list) as ResourceTable;
  const bindings = createBindings();
  const { join, orderBy } = listingOrder(resource.name, table, brand.id, bindings);
  const where = liveConditions('t', brand.id, bindings).join(' AND ');
  const rows = await query(
    `SELECT CAST(t.id AS VARCHAR), t.name FROM ${quoted(table.name)} t ${join} WHERE ${where} ORDER BY ${orderBy}`,
    bindings.values,
  );
  return rows.map(([id, name]) => ({ key: String(id), groupId: String(id), name: name as string | null }));
}

// Upstream may display a funnel stage under a different name.
async function readReportedNames({ catalogue, query, brand }: ReportRequest, by: string): Promise<Map<string, string>> {
  const { name } = catalogue.get('metrics_groups').derived[0] as ResourceTable;
  const rows = await query(
    `SELECT group_id, arg_max(name, range_to) FROM ${quoted(name)}
     WHERE brand_id = CAST($1 AS UUID) AND group_by = $2 AND group_id IS NOT NULL AND name IS NOT NULL GROUP BY 1`,
    [brand.id, by],
  );
  return new Map(rows.map(([id, shown]) => [String(id), String(shown)]));
}

function sum(groups: readonly GroupTally[]): GroupTally {
  const competitors = new Map<string, MentionCounts>();
  let own = nothing;
  for (const group of groups) {
    own = add(own, group.own);
    for (const [id, tally] of group.competitors) competitors.set(id, add(competitors.get(id) ?? nothing, tally));
  }
  return { key: [], own, competitors };
}

function add(a: MentionCounts, b: MentionCounts): MentionCounts {
  const labels = new Set([...Object.keys(a.labels), ...Object.keys(b.labels)]);
  return {
    responses: a.responses + b.responses,
    mentions: a.mentions + b.mentions,
    positions: { count: a.positions.count + b.positions.count, sum: a.positions.sum + b.positions.sum },
    labels: Object.fromEntries([...labels].map((label) => [label, (a.labels[label] ?? 0) + (b.labels[label] ?? 0)])),
  };
}
