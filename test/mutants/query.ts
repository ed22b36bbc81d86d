import type { Mutant } from './run-mutants.ts';

const FRESHNESS = ['test/read/freshness.test.ts'];
const ZONES = ['test/read/traffic-zones.test.ts'];
const REPLICA_HOLDER = ['test/read/replica-holder.test.ts'];
const NAIVE = ['test/read/metrics/naive-equality.test.ts'];
const MARTS = ['test/metrics/marts.test.ts'];
const EXPLAINED = ['test/metrics/explain-worlds.test.ts'];
const POINTS = ['test/metrics/fit-points.test.ts'];
const VERIFY = ['test/metrics/verify.test.ts'];
const NOTIFY = ['test/operations/notify.test.ts'];
const MIDWAY = ['test/operations/midway.test.ts'];
const SAVED = ['test/operations/sql/saved-queries.test.ts'];
const INCREMENTAL = ['test/operations/export/incremental.test.ts'];

/** Faults in the query layer, in analytics and in operations. */
export const mutants: readonly Mutant[] = [
  {
    file: 'src/read/metrics/comparison-gaps.ts',
    from: 'first === null || first > before.from',
    to: 'first === null',
    tests: ['test/read/metrics/comparison-gaps.test.ts'],
  },
  {
    file: 'src/metrics/model/cells-sql.ts',
    from: 'CASE WHEN bool_and(is_one_currency) THEN coalesce',
    to: 'CASE WHEN true THEN coalesce',
    tests: NAIVE,
  },
  {
    file: 'src/metrics/model/cells-sql.ts',
    from: 'arg_max(connected, (_synced_at, range_to))',
    to: 'bool_or(connected)',
    tests: NAIVE,
  },
  {
    file: 'src/read/coverage.ts',
    from: ' || (day < today && dayAt(Math.min(closedAt, nowMs)) <= day)',
    to: '',
    tests: FRESHNESS,
  },
  {
    file: 'src/read/data-versions.ts',
    from: "const scope = source.scope === 'brand' ? brandId : COMPLETE;",
    to: 'const scope = COMPLETE;',
    tests: ['test/serve/http/etags.test.ts'],
  },
  {
    file: 'src/read/cursor-signer.ts',
    from: 'update(`${binding}\\n${payload}`)',
    to: 'update(payload)',
    tests: ['test/read/cursor.test.ts'],
  },
  {
    file: 'src/read/cursor-signer.ts',
    from: "bytes.toString('base64url') === cursor && ",
    to: '',
    tests: ['test/read/cursor.test.ts'],
  },
  { file: 'src/read/row-cache.ts', from: 'known.delete(key);', to: '', tests: ['test/read/row-cache.test.ts'] },
  {
    file: 'src/read/replica-holder.ts',
    from: 'if (held !== null && held.file.inode !== file.inode) return held.replica;',
    to: 'if (held !== null) return held.replica;',
    tests: REPLICA_HOLDER,
  },
  {
    file: 'src/read/replica-holder.ts',
    from: "thrown.code !== 'warehouse_invalid'",
    to: "thrown.code === 'warehouse_invalid'",
    tests: REPLICA_HOLDER,
  },
  {
    file: 'src/read/time-spread.ts',
    from: 'isFiltered ? FILTERED_SPARE : SPARE',
    to: 'isFiltered ? SPARE : FILTERED_SPARE',
    tests: ['test/read/time-spread.test.ts'],
  },
  {
    file: 'src/read/calendar.ts',
    from: 'if (number >= first && isUnread && isEmpty)',
    to: 'if (number >= first && !isUnread && isEmpty)',
    tests: ['test/read/empty-days.test.ts'],
  },
  {
    file: 'src/read/formats/arrow-columns.ts',
    from: 'BigInt(wholeSecondMs) * 1000n + BigInt(moment.slice(20))',
    to: 'BigInt(Date.parse(moment)) * 1000n',
    tests: ['test/read/formats.test.ts'],
  },
  {
    file: 'src/read/metrics/scope-request.ts',
    from: 'filter((id) => allowed?.includes(id) ?? true)',
    to: 'filter(() => allowed?.length !== 0)',
    tests: ['test/read/metrics/brand-limit.test.ts'],
  },
  {
    file: 'src/read/metrics/scope-request.ts',
    from: "text.includes(',') && selectsOne",
    to: "!text.includes(',') && selectsOne",
    tests: ['test/read/metrics/run-metrics.test.ts'],
  },
  {
    file: 'src/read/metrics/run-metrics.ts',
    from: 'mayRepeat: source.replica.mayRepeat',
    to: 'mayRepeat: !source.replica.mayRepeat',
    tests: NAIVE,
  },
  {
    file: 'src/metrics/numbers/aggregate.ts',
    from: 'countsOf(sum, own.responses)',
    to: 'countsOf(sum)',
    tests: ['test/read/day-counts.test.ts'],
  },
  {
    file: 'src/read/metrics/dimension-values.ts',
    from: 'total: Number(rows[0]?.at(-1) ?? 0)',
    to: 'total: rows.length',
    tests: ['test/read/metrics/dimension-values.test.ts'],
  },
  {
    file: 'src/metrics/model/statistics-sql.ts',
    from: 'sqrt(${Z2} * n / (n - 1) * greatest(0, squares))',
    to: 'sqrt(${Z2} * greatest(0, squares))',
    tests: NAIVE,
  },
  {
    file: 'src/metrics/model/statistics-sql.ts',
    from: "['competitor_id IS NULL']",
    to: '[]',
    tests: ['test/read/metrics/run-metrics.test.ts'],
  },
  {
    file: 'src/metrics/model/statistics-sql.ts',
    from: 'coalesce(list_sum(weights[:place - 1]), 0)',
    to: 'list_sum(weights[:place - 1])',
    tests: NAIVE,
  },
  {
    file: 'src/metrics/marts/formulas.ts',
    from: '`${squares} <= 1e-12 * ${sizes}`',
    to: '`false AND ${squares} <= ${sizes}`',
    tests: ['test/read/metrics/flat-intervals.test.ts'],
  },
  {
    file: 'src/metrics/marts/brand_changes.sql',
    from: ' AND b.has_sites',
    to: '',
    tests: MARTS,
  },
  {
    file: 'src/metrics/marts/prompt_changes.sql',
    from: 'WHEN engines = 1 THEN 0',
    to: 'WHEN engines >= 1 THEN 0',
    tests: ['test/metrics/statistics.test.ts'],
  },
  {
    file: 'src/metrics/marts/lost_prompts.sql',
    from: 'AND r.created_at > c.last_mentioned_at',
    to: 'AND r.created_at >= c.last_mentioned_at',
    tests: ['test/metrics/marts.test.ts'],
  },
  {
    file: 'src/metrics/marts/source_gaps.sql',
    from: 'SEMI JOIN rivals USING (brand_id, response_id)',
    to: 'SEMI JOIN rivals USING (response_id)',
    tests: ['test/metrics/written-rows.test.ts'],
  },
  {
    file: 'src/metrics/marts/list_states.sql',
    from: " OR change <> 'updated'",
    to: '',
    tests: ['test/metrics/written-rows.test.ts'],
  },
  {
    file: 'src/metrics/marts/dim_prompt_history.sql',
    from: "change <> 'deleted'",
    to: 'true',
    tests: MARTS,
  },
  {
    file: 'src/metrics/marts/visibility_vs_traffic.sql',
    from: 'THEN corr(v.sessions, a.visibility)',
    to: 'THEN covar_samp(v.sessions, a.visibility)',
    tests: MARTS,
  },
  {
    file: 'src/metrics/marts/visibility_vs_traffic.sql',
    from: ', e.today - 1)',
    to: ')',
    tests: ZONES,
  },
  {
    file: 'src/read/create-service.ts',
    from: 'const today = replica.daysOf(resource.name, ids.brandId)(nowMs);',
    to: 'const today = dayOf(nowMs);',
    tests: ZONES,
  },
  {
    file: 'src/metrics/explain/decompose.ts',
    from: '((value0 + value1) / 2 - reference)',
    to: '(value0 - reference)',
    tests: ['test/metrics/explain-counts.test.ts'],
  },
  {
    file: 'src/metrics/explain/what-changed.ts',
    from: 'AND (brand_id IS NOT NULL OR NOT $4)',
    to: 'AND (brand_id IS NOT NULL OR NOT $4 OR true)',
    tests: EXPLAINED,
  },
  {
    file: 'src/metrics/explain/opportunities.ts',
    from: "AND owner NOT IN ('owned', 'competitor')",
    to: '',
    tests: EXPLAINED,
  },
  {
    file: 'src/metrics/explain/opportunities.ts',
    from: 'SELECT domain FROM cited JOIN asked USING (response_id) WHERE brand_mentioned AND domain IS NOT NULL',
    to: 'SELECT domain FROM cited WHERE false',
    tests: EXPLAINED,
  },
  {
    file: 'src/metrics/calibration/fit-points.ts',
    from: 'if (finding === undefined || finding.contradicted || finding.compared === 0) return null;',
    to: 'return null;',
    tests: POINTS,
  },
  {
    file: 'src/metrics/calibration/findings.ts',
    from: 'Object.hasOwn(conventionSchemas, String(name))',
    to: 'String(name) in conventionSchemas',
    tests: ['test/metrics/written-rows.test.ts'],
  },
  {
    file: 'src/metrics/verification/comparison.ts',
    from: 'comparison.countDiffers(theirs[measure], stored) ?',
    to: 'false ?',
    tests: VERIFY,
  },
  {
    file: 'src/metrics/queries/response_list.sql',
    from: 'created_at < (SELECT moment FROM place) OR response_id < (SELECT id FROM place)',
    to: 'created_at < (SELECT moment FROM place) OR response_id <= (SELECT id FROM place)',
    tests: ['test/read/metrics/reader-queries.test.ts'],
  },
  {
    file: 'src/metrics/queries/prompt_list.sql',
    from: "(date_diff('day', $from, $to) + 1)",
    to: "date_diff('day', $from, $to)",
    tests: ['test/read/metrics/reader-queries.test.ts'],
  },
  {
    file: 'src/metrics/queries/co_mentions.sql',
    from: 'mention_count(s.brand_mentioned) AS together',
    to: 'count(*) AS together',
    tests: ['test/read/metrics/rival-queries.test.ts'],
  },
  {
    file: 'src/operations/notify/send-webhook.ts',
    from: 'status === 425 || status === 429 ||',
    to: 'status === 425 ||',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/notify/deliver.ts',
    from: 'Math.max(asked, bound / 2 + (clock.random() * bound) / 2)',
    to: 'bound / 2 + (clock.random() * bound) / 2',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/notify/send-mail.ts',
    from: 'mayRetry: responseCode < 500',
    to: 'mayRetry: false',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/notify/send-mail.ts',
    from: 'requireTLS: !isLoopback(new URL(`https://${url.host}`))',
    to: 'requireTLS: false',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/notify/judge.ts',
    from: '(scope !== null && scope !== open.scope)',
    to: 'scope === open.scope',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/notify/judge.ts',
    from: 'Math.abs(nowMs - Date.parse(toldAt)) < REMIND_MS',
    to: 'nowMs - Date.parse(toldAt) < REMIND_MS',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/notify/notify.ts',
    from: 'now.waiting = now.waiting.filter(({ id }) => !sent.has(id));',
    to: '',
    tests: NOTIFY,
  },
  {
    file: 'src/operations/publish-midway.ts',
    from: 'else [isDue, hasNews] = [true, true];',
    to: '',
    tests: MIDWAY,
  },
  {
    file: 'src/operations/publish-midway.ts',
    from: 'if (busy !== null || !isSettled || !isDue || !hasNews || stop.signal.aborted) return;',
    to: 'if (busy !== null || !isSettled || !isDue || stop.signal.aborted) return;',
    tests: MIDWAY,
  },
  {
    file: 'src/operations/sql/saved-queries.ts',
    from: "condition === '*' || found.etag === condition",
    to: 'found.etag !== undefined',
    tests: SAVED,
  },
  {
    file: 'src/operations/sql/saved-queries.ts',
    from: 'const found = await lstat(path).catch(() => null);',
    to: "const { stat } = await import('node:fs/promises');\n    const found = await stat(path).catch(() => null);",
    tests: SAVED,
  },
  {
    file: 'src/operations/sql/fair-queue.ts',
    from: 'if (sessions.delete(session)) sessions.set(session, tasks);',
    to: '',
    tests: ['test/operations/sql/fair-queue.test.ts'],
  },
  {
    file: 'src/operations/sql/brand-files.ts',
    from: 'if (known?.of === of) return known.file;',
    to: 'if (known !== undefined) return known.file;',
    tests: ['test/operations/sql/sql-service.test.ts'],
  },
  {
    file: 'src/operations/compare/body-differences.ts',
    from: 'const place = shared.findIndex((key, index) => order[index] !== key);',
    to: 'const place = -1 + 0 * order.length;',
    tests: ['test/operations/compare.test.ts'],
  },
  {
    file: 'src/operations/compare/compare-question.ts',
    from: 'over: 6 * 3_600_000',
    to: 'over: 60 * 3_600_000',
    tests: ['test/operations/compare.test.ts'],
  },
  {
    file: 'src/operations/export/export-files.ts',
    from: '    signal.throwIfAborted();\n    const publish = (): Promise<void> => replaceFolder',
    to: '    const publish = (): Promise<void> => replaceFolder',
    tests: INCREMENTAL,
  },
  {
    file: 'src/operations/cluster/shared-folder.ts',
    from: ' && recorded.inode === own.inode',
    to: '',
    tests: ['test/operations/shared-folder.test.ts'],
  },
  {
    file: 'src/publish/snapshot/workbook.ts',
    from: ".replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')",
    to: '',
    tests: ['test/operations/export/workbook.test.ts'],
  },
  {
    file: 'src/metrics/verification/comparison.ts',
    from: "if (!isKnown(measure) || (measure === 'sentiment' && !isKnown('labels'))) return false;",
    to: '',
    tests: VERIFY,
  },
  {
    file: 'src/publish/snapshot/changes.ts',
    from: ' OR b.${HASH} <> n.${HASH}',
    to: '',
    tests: INCREMENTAL,
  },
  // Briefs
  {
    file: 'src/metrics/explain/brief.ts',
    from: 'lower >= -UNCHANGED_WITHIN && upper <= UNCHANGED_WITHIN',
    to: 'lower >= -UNCHANGED_WITHIN || upper <= UNCHANGED_WITHIN',
    tests: ['test/metrics/brief.test.ts'],
  },
  {
    file: 'src/metrics/explain/brief.ts',
    from: 'p !== null && p <= ERROR_RATE',
    to: 'p !== null',
    tests: ['test/metrics/brief.test.ts'],
  },
  {
    file: 'src/metrics/explain/brief.ts',
    from: "[...withTone('bad'), ...withTone('good')]",
    to: "[...withTone('good'), ...withTone('bad')]",
    tests: ['test/metrics/brief.test.ts'],
  },
];
