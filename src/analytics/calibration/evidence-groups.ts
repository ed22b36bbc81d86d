import type { Query } from '../../warehouse/database.ts';
import {
  type GroupName,
  KEY,
  type PromptCounts,
  type PromptEvidence,
  type Reported,
  type Side,
  sumOf,
} from './evidence-prompts.ts';
import { askedSql, ROWS_MAX } from './evidence.ts';

/** Share of a group's responses that may have been added or deleted since upstream reported them. */
const NEAR = 0.05;

/** Prompt ids by group; prompts without a group are under ''. */
type Members = ReadonlyMap<string, readonly string[]>;

/** Adds upstream's `metrics_groups` rows to the evidence. */
export async function collectGroups(query: Query, { sides, evidence, add }: PromptCounts): Promise<void> {
  const members = await readMembers(query);
  const rows = await query(
    `SELECT ${KEY}, m.group_by, m.group_id, m.name, m.responses, m.visibility, m.visibility_change,
       m.avg_position, m.sentiment, m.share_of_voice
     FROM metrics_groups m JOIN (${askedSql('metrics_groups')}) a USING (brand_id, range_from, range_to)
     WHERE m._deleted_at IS NULL LIMIT ${ROWS_MAX}`,
  );
  const unknown = new Map<string, UnknownRow[]>();
  for (const [key, by, groupId, name, ...numbers] of rows) {
    const side = sides.get(String(key));
    if (side === undefined) continue;
    const report = `${String(key)} ${String(by)}`;
    const [responses, visibility, visibilityChange, avgPosition, sentiment, shareOfVoice] = numbers;
    const reported = { responses, visibility, visibilityChange, avgPosition, sentiment, shareOfVoice } as Reported;
    const called = { groupId: groupId as string | null, name: name as string | null };
    const groups: Members = members.get(`${brandOf(report)} ${String(by)}`) ?? new Map();
    const ids = by === 'branded' ? brandedIds(groups, side, reported, called, evidence) : idsOf(groups, called);
    if (ids === undefined) {
      unknown.set(report, [...(unknown.get(report) ?? []), { called, responses: reported.responses }]);
      continue;
    }
    add(side, ids, reported);
  }
  for (const [report, ofReport] of new Map(rows.map((row) => [`${String(row[0])} ${String(row[1])}`, row]))) {
    const by = String(ofReport[1]);
    const side = sides.get(String(ofReport[0]));
    if (by === 'branded' || side === undefined) continue;
    const without = members.get(`${brandOf(report)} ${by}`)?.get('') ?? [];
    const current = new Set([...(members.get(`${brandOf(report)} branded`)?.values() ?? [])].flat());
    const deleted = [...side.now.keys()].filter((id) => !current.has(id));
    // Deleted prompts may count as prompts without a group.
    const counts = [without, [...without, ...deleted]].map((ids) => sumOf(side, ids).tally.responses);
    collectUngrouped(counts, unknown.get(report) ?? [], evidence);
  }
}

interface UnknownRow {
  readonly called: GroupName;
  readonly responses: number | null;
}

// If prompts without a group have responses, records upstream's row for them, or null if there is none.
function collectUngrouped(counts: readonly number[], unknown: readonly UnknownRow[], evidence: PromptEvidence): void {
  const [row] = unknown;
  if (unknown.length > 1 || (row === undefined && counts[0] === 0)) return;
  if (row === undefined) evidence.ungrouped.push(null);
  else if (counts.some((count) => count > 0 && isNear(count, row.responses))) evidence.ungrouped.push(row.called);
}

// Tolerates a few responses that arrived between reading the report and reading the responses.
function isNear(held: number, reported: number | null): boolean {
  return reported !== null && Math.abs(held - reported) <= NEAR * reported;
}

// Upstream may write ids in upper case.
function idsOf(groups: Members, { groupId }: GroupName): readonly string[] | undefined {
  return groupId === null || groupId === '' ? undefined : (groups.get(groupId) ?? groups.get(groupId.toLowerCase()));
}

// Decides whether a row is the branded group: by its number of responses, or by its name if both groups match.
function brandedIds(
  groups: Members,
  side: Side,
  { responses }: Reported,
  called: GroupName,
  evidence: PromptEvidence,
): readonly string[] | undefined {
  const [branded = [], others = []] = ['true', 'false'].map((key) => groups.get(key) ?? []);
  const mayBe = isNear(sumOf(side, branded).tally.responses, responses);
  const mayNotBe = isNear(sumOf(side, others).tally.responses, responses);
  if (!mayBe && !mayNotBe) return undefined;
  const is = mayBe && mayNotBe ? !/\b(non|not|un|no\b|false|generic|other)/i.test(JSON.stringify(called)) : mayBe;
  evidence.branded.push({ name: called, is });
  return is ? branded : others;
}

// Prompt ids by brand and kind of group, then by group; prompts without a group are under ''.
async function readMembers(query: Query): Promise<Map<string, Map<string, string[]>>> {
  const live = `FROM prompts p JOIN (${askedSql('metrics_groups')}) a ON a.brand_id = p.brand_id WHERE p._deleted_at IS NULL`;
  const rows = await query(
    `SELECT CAST(brand_id AS VARCHAR) AS brand, kind, coalesce(name, '') AS name, CAST(id AS VARCHAR) AS id FROM (
       SELECT p.brand_id, 'topic' AS kind, CAST(p.topic_id AS VARCHAR) AS name, p.id ${live}
       UNION ALL SELECT p.brand_id, 'funnelStage', p.funnel_stage, p.id ${live}
       UNION ALL SELECT p.brand_id, 'branded', CASE WHEN p.branded THEN 'true' ELSE 'false' END, p.id ${live}
       UNION ALL SELECT p.brand_id, 'tag', g.tag, p.id FROM (SELECT p.brand_id, p.id ${live}) p
         LEFT JOIN (SELECT DISTINCT brand_id, prompt_id, CAST(tag_id AS VARCHAR) AS tag FROM prompt_tags
           WHERE _deleted_at IS NULL) g ON g.brand_id = p.brand_id AND g.prompt_id = p.id)`,
  );
  const members = new Map<string, Map<string, string[]>>();
  for (const [brand, kind, name, id] of rows) {
    const key = `${String(brand)} ${String(kind)}`;
    const groups = members.get(key) ?? new Map<string, string[]>();
    members.set(key, groups);
    const ids = groups.get(String(name)) ?? [];
    groups.set(String(name), ids);
    ids.push(String(id));
  }
  return members;
}

function brandOf(key: string): string {
  return key.split(' ')[0] ?? '';
}
