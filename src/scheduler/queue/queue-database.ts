import type { Redis } from 'ioredis';
import type { Pool } from 'pg';

/** Identifies a lease to the worker that has it. */
export interface LeaseKey {
  /** The id of the task. */
  readonly id: string;
  readonly token: string;
  /** How often the task was started. */
  readonly attempt: number;
}

/** Operations that need the one clock and the atomicity of the database and that BullMQ does not offer. */
export interface QueueDatabase {
  /**
   * Reports whether expired leases may be taken over now. If no worker called this for half a lease, the database was
   * away. It then returns false for one lease, so that every worker that still has a task can renew its lease first.
   */
  mayReclaim(leaseMs: number): Promise<boolean>;
  /**
   * Renews a lease even if it has expired. Returns false if another worker took the task over. Null if the database
   * renews expired leases anyway.
   */
  readonly renewExpired: ((key: LeaseKey, leaseMs: number) => Promise<boolean>) | null;
  /** Sets a field of the queue's metadata if it is not set. */
  setIfAbsent(field: string, value: string): Promise<void>;
}

/** The field of the queue's metadata that contains "<last call>/<no takeover before>", in epoch milliseconds. */
const FIELD = 'sightline:sweep';

// One statement, so that two workers that call it at the same time agree. An invalid value counts as "never called". A
// time in the future is limited to one lease from now.
const MAY_RECLAIM = `
  INSERT INTO meta AS known (queue, field, value)
  SELECT $1, '${FIELD}', now.ms || '/' || now.ms + $2::bigint FROM
    (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS now
  ON CONFLICT (queue, field) DO UPDATE SET value =
    split_part(EXCLUDED.value, '/', 1) || '/' || CASE
      WHEN known.value !~ '^[0-9]{1,15}/[0-9]{1,15}$' THEN split_part(EXCLUDED.value, '/', 2)::bigint
      WHEN split_part(EXCLUDED.value, '/', 1)::bigint - split_part(known.value, '/', 1)::bigint
        NOT BETWEEN -$2::bigint / 2 AND $2::bigint / 2 THEN split_part(EXCLUDED.value, '/', 2)::bigint
      ELSE least(split_part(known.value, '/', 2)::bigint, split_part(EXCLUDED.value, '/', 2)::bigint)
    END
  RETURNING split_part(value, '/', 2)::bigint <= split_part(value, '/', 1)::bigint AS may`;

/** Implementation for PostgreSQL. An expired lease can be renewed until another worker takes the task over. */
export function createPostgresDatabase(pool: Pool, queue: string): QueueDatabase {
  return {
    mayReclaim: async (leaseMs) => {
      const { rows } = await pool.query<{ may: boolean }>(MAY_RECLAIM, [queue, leaseMs]);
      return rows[0]?.may === true;
    },
    renewExpired: null,
    setIfAbsent: async (field, value) => {
      const text = 'INSERT INTO meta (queue, field, value) VALUES ($1, $2, $3) ON CONFLICT (queue, field) DO NOTHING';
      await pool.query(text, [queue, field, value]);
    },
  };
}

// Both keys expire by themselves. KEYS: asked, quiet. ARGV: half a lease, a lease (milliseconds).
const MAY_RECLAIM_SCRIPT = `
  if not redis.call('SET', KEYS[1], '1', 'PX', ARGV[1], 'GET') then
    redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  end
  return 1 - redis.call('EXISTS', KEYS[2])`;

// KEYS: lock, active tasks, stalled tasks, task. ARGV: id, token, attempt, a lease (milliseconds).
const RENEW_SCRIPT = `
  local lock = redis.call('GET', KEYS[1])
  if lock and lock ~= ARGV[2] then return 0 end
  if not redis.call('LPOS', KEYS[2], ARGV[1]) then return 0 end
  if redis.call('HGET', KEYS[4], 'ats') ~= ARGV[3] then return 0 end
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
  redis.call('SREM', KEYS[3], ARGV[1])
  return 1`;

/** Implementation for Redis. A lease is a key that disappears when it expires. */
export function createRedisDatabase(redis: Redis, toKey: (name: string) => string): QueueDatabase {
  return {
    mayReclaim: async (leaseMs) => {
      const keys = [toKey(`${FIELD}:asked`), toKey(`${FIELD}:quiet`)];
      return (await redis.eval(MAY_RECLAIM_SCRIPT, keys.length, ...keys, Math.ceil(leaseMs / 2), leaseMs)) === 1;
    },
    renewExpired: async ({ id, token, attempt }, leaseMs) => {
      const keys = [toKey(`${id}:lock`), toKey('active'), toKey('stalled'), toKey(id)];
      return (await redis.eval(RENEW_SCRIPT, keys.length, ...keys, id, token, attempt, leaseMs)) === 1;
    },
    setIfAbsent: async (field, value) => void (await redis.hsetnx(toKey('meta'), field, value)),
  };
}
