import type { Mutant } from './run-mutants.ts';

/** Faults in jobs, sessions, the budget, homes, published snapshots and the processes of the command line. */
export const mutants: readonly Mutant[] = [
  // Jobs and queues.
  {
    file: 'src/jobs/schedule.ts',
    from: 'if (underWay.has(job.name)) continue;',
    to: '',
    tests: ['test/jobs/schedule.test.ts'],
  },
  {
    file: 'src/jobs/schedule.ts',
    from: '(job.catchUp || now - due <= LATE_MS)',
    to: 'job.catchUp',
    tests: ['test/jobs/schedule.test.ts'],
  },
  {
    file: 'src/jobs/run-job.ts',
    from: "const isFinal = status === 'interrupted' || status === 'locked';",
    to: "const isFinal = status === 'interrupted';",
    tests: ['test/jobs/schedule.test.ts'],
  },
  {
    file: 'src/jobs/run-job.ts',
    from: 'steps.length === index && !isOver',
    to: 'false',
    tests: ['test/jobs/schedule.test.ts'],
  },
  {
    file: 'src/jobs/process-tasks.ts',
    from: 'ready.find(({ task }) => task.attempt > 1) ?? ready[0]',
    to: 'ready[0]',
    tests: ['test/jobs/runner.test.ts'],
  },
  {
    file: 'src/jobs/process-runner.ts',
    from: 'tasks.active.length < concurrency ?',
    to: 'tasks.active.length <= concurrency ?',
    tests: ['test/jobs/runner.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-worker.ts',
    from: `      if (now - lastMs > 2 * BEAT_MS) awakeSince = now;
      lastMs = now;
      // After the database was away, other workers get the time to renew their leases.
      if (now - Math.max(awakeSince, trouble.lastMs()) >= LEASE_MS)`,
    to: `      lastMs = now;
      if (now - awakeSince >= LEASE_MS)`,
    tests: ['test/jobs/runner.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-worker.ts',
    from: "if (state === 'retry' && priority !== BEGUN_PRIORITY) await prefer(boss, id, 0);",
    to: '',
    tests: ['test/jobs/runner.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-worker.ts',
    from: 'groupConcurrency: 1,',
    to: '',
    tests: ['test/jobs/runner.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-worker.ts',
    from: 'if (!isAway(thrown) || isLast) throw thrown;',
    to: 'throw thrown;',
    tests: ['test/jobs/queue.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-worker.ts',
    from: 'if (job.retryCount === 0) await',
    to: 'if (job.retryCount < 0) await',
    tests: ['test/jobs/queue.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-worker.ts',
    from: 'if (job.retryCount === 0) await',
    to: 'await',
    tests: ['test/jobs/queue.test.ts'],
  },
  {
    file: 'src/jobs/queue/queue-records.ts',
    from: 'if (replaces) await',
    to: 'if (folder) await',
    tests: ['test/jobs/queue.test.ts'],
  },
  // Sessions and owners.
  {
    file: 'src/workspace/process-driver.ts',
    from: 'const next = queue.waiting.shift();',
    to: 'const next = queue.waiting.pop();',
    tests: ['test/workspace/conformance.test.ts'],
  },
  {
    file: 'src/workspace/process-driver.ts',
    from: 'waiting.splice(waiting.indexOf(waiter), 1);',
    to: '',
    tests: ['test/workspace/conformance.test.ts'],
  },
  {
    file: 'src/workspace/session.ts',
    from: 'const left = await settle(leave);',
    to: "const left = 'error' in settled ? { value: undefined } : await settle(leave);",
    tests: ['test/workspace/conformance.test.ts'],
  },
  {
    file: 'src/workspace/session.ts',
    from: 'session.epoch === null ? context.signal : AbortSignal.any([context.signal, session.lost])',
    to: 'context.signal',
    tests: ['test/workspace/conformance.test.ts'],
  },
  {
    file: 'src/workspace/lock-driver.ts',
    from: 'const taken = ahead === 0 ?',
    to: 'const taken = ahead >= 0 ?',
    tests: ['test/workspace/conformance.test.ts'],
  },
  {
    file: 'src/base/file-lock.ts',
    from: 'if (Date.now() - modifiedMs > STALE_MS) return null;',
    to: '',
    tests: ['test/base/file-lock.test.ts'],
  },
  {
    file: 'src/base/file-lock.ts',
    from: 'pid === process.pid ? held.has(text) : isAlive(pid)',
    to: 'isAlive(pid)',
    tests: ['test/base/file-lock.test.ts'],
  },
  {
    file: 'src/base/file-lock.ts',
    from: 'if (host !== hostname()) return holder;',
    to: '',
    tests: ['test/base/file-lock.test.ts'],
  },
  // The budget.
  {
    file: 'src/upstream/budget/send-ledger.ts',
    from: 'untilFewer(ends, [], capacity(share), at),',
    to: 'untilFewer(ends, [], capacity(share) + 1, at),',
    tests: ['test/upstream/budget/budget.test.ts'],
  },
  {
    file: 'src/upstream/budget/send-ledger.ts',
    from: 'if (limit === null || at >= limit.at) limit = { value, at };',
    to: 'limit ??= { value, at };',
    tests: ['test/upstream/budget/rate-headers.test.ts'],
  },
  {
    file: 'src/upstream/budget/send-ledger.ts',
    from: 'gateUntil = Math.max(gateUntil, at + value);',
    to: 'gateUntil = at + value;',
    tests: ['test/upstream/budget/rate-headers.test.ts'],
  },
  {
    file: 'src/upstream/budget/send-ledger.ts',
    from: 'const fresh = count - total(active(now));',
    to: 'const fresh = count;',
    tests: ['test/upstream/budget/budget.test.ts'],
  },
  {
    file: 'src/upstream/budget/send-ledger.ts',
    from: 'LATENCY_SHARE * Math.min(...latencies)',
    to: 'LATENCY_SHARE * Math.max(...latencies)',
    tests: ['test/upstream/budget/latency.test.ts'],
  },
  {
    file: 'src/upstream/budget/send-queue.ts',
    from: "    } catch (thrown) {\n      book.note('leave', mine.id);\n      throw thrown;",
    to: '    } catch (thrown) {\n      throw thrown;',
    tests: ['test/upstream/budget/remote.test.ts'],
  },
  {
    file: 'src/upstream/budget/file-store.ts',
    from: 'if (!readOn(line)) continue;',
    to: 'readOn(line);',
    tests: ['test/upstream/budget/file-store.test.ts'],
  },
  {
    file: 'src/upstream/budget/file-store.ts',
    from: 'if (limit !== null) files.write(formatRecord(limit));',
    to: '',
    tests: ['test/upstream/budget/file-store.test.ts'],
  },
  // Loads.
  {
    file: 'src/publish/destinations/loaded-table.ts',
    from: 'hash(hash(${literal(name)}, ${quoted(name)}))',
    to: 'hash(${quoted(name)})',
    tests: ['test/publish/destinations/load.test.ts'],
  },
  {
    file: 'src/publish/destinations/load-tables.ts',
    from: ': own[1] !== warehouse',
    to: ': own[1] === null',
    tests: ['test/publish/destinations/load.test.ts'],
  },
  {
    file: 'src/publish/destinations/load-tables.ts',
    from: 'if (found !== undefined) await session.run(inOwnSql(attachment, path, (at) => `UPDATE ${at} SET _hash = NULL`));',
    to: '',
    tests: ['test/publish/destinations/load.test.ts'],
  },
  {
    file: 'src/publish/destinations/load-tables.ts',
    from: 'if (attachment.locksPosition && !load.dryRun)',
    to: 'if (false)',
    tests: ['test/publish/destinations/load.test.ts'],
  },
  {
    file: 'src/publish/destinations/load-rows.ts',
    from: "kind === 'number' && !hasNan",
    to: 'false',
    tests: ['test/publish/destinations/load.test.ts'],
  },
  {
    file: 'src/publish/destinations/load-rows.ts',
    from: 'some.rowsThere === before && ',
    to: '',
    tests: ['test/publish/destinations/load-parts.test.ts'],
  },
  {
    file: 'src/publish/destinations/load-rows.ts',
    from: 'return Number(found?.[0]) === inserted;',
    to: 'return Number(found?.[0]) >= inserted;',
    tests: ['test/publish/destinations/load-parts.test.ts'],
  },
  {
    file: 'src/publish/destinations/table-parts.ts',
    from: "known.get(OF_LOAD)?.get('')?.hashes === identity",
    to: 'known.has(OF_LOAD)',
    tests: ['test/publish/destinations/load-parts.test.ts'],
  },
  // Homes.
  {
    file: 'src/publish/destinations/home-tables.ts',
    from: 'before === null || before.position !== work.position',
    to: 'before === null',
    tests: ['test/workspace/home.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/publish/destinations/home-tables.ts',
    from: 'const isFree = lease === null || Date.parse(lease.until) <= now ||',
    to: 'const isFree = lease === null || Date.parse(lease.until) >= now ||',
    tests: ['test/workspace/home.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/publish/destinations/home-tables.ts',
    from: '        known.delete(id);\n        continue;',
    to: '        continue;',
    tests: ['test/workspace/home.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/workspace/home-folder.ts',
    from: '    for (const { path } of kept.toReversed()) await rm(path, { force: true });\n',
    to: '',
    tests: ['test/workspace/home.test.ts'],
  },
  {
    file: 'src/workspace/home-folder.ts',
    from: "mark === null || (mark.home === home && (mark.savedAt ?? '') > savedAt)",
    to: 'mark === null',
    tests: ['test/workspace/home.test.ts'],
  },
  // Published snapshots and object stores.
  {
    file: 'src/publish/lake/store-publisher.ts',
    from: 'if (!isStillWhole(entry, found?.pointer ?? null, now)) entry = await putSnapshot(placed.staged);\n        else ',
    to: '',
    tests: ['test/publish/storage/object-store.test.ts'],
  },
  {
    file: 'src/publish/lake/store-publisher.ts',
    from: 'if (found !== null) refuseFenced(store, found.pointer, epoch);',
    to: '',
    tests: ['test/publish/storage/object-store.test.ts'],
  },
  {
    file: 'src/publish/lake/lake-retention.ts',
    from: '!OURS.test(key) || named.has(key) || modifiedAt + STORE_GRACE_MS > now',
    to: '!OURS.test(key) || named.has(key)',
    tests: ['test/publish/storage/object-store.test.ts'],
  },
  {
    file: 'src/publish/storage/store-conditions.ts',
    from: "if (await store.create(key, body)) throw unsafe(store, 'ignores If-None-Match and overwrites an object');",
    to: '',
    tests: ['test/publish/storage/object-store.test.ts'],
  },
  // Processes of the command line.
  {
    file: 'src/base/config/config.ts',
    from: '? 0o027 : 0o077;',
    to: '? 0o027 : 0o022;',
    tests: ['test/cli/permissions.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/cli/main.ts',
    from: "if (thrown.code === 'EPIPE') process.exit(EXIT.done);",
    to: '',
    tests: ['test/cli/signals.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/cli/main.ts',
    from: 'if (stop.signal.aborted) process.exit(EXIT.interrupted);',
    to: '',
    tests: ['test/cli/signals.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/warehouse/sql/allow-statements.ts',
    from: "const REJECTED_FUNCTIONS = new Set('currval getenv json_serialize_plan nextval write_log'.split(' '));",
    to: "const REJECTED_FUNCTIONS = new Set('currval getenv json_serialize_plan nextval'.split(' '));",
    tests: ['test/cli/sql-breakouts.test.ts'],
    isBuilt: true,
  },
];
