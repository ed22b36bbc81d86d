import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createPrettyLines } from '../../../src/serve/telemetry/pretty-log.ts';
import { openLog } from '../../../src/serve/telemetry/server-log.ts';

const KEY = 'gsk_abcdefgh12345678';

it('redacts everything that looks like a key, from any logger and in any field', () => {
  const texts: string[] = [];
  const log = openLog((text) => texts.push(text), 'info', systemClock);
  expect(openLog(log, 'trace', systemClock)).toBe(log);
  log.logger.error({ err: new Error(`no ${KEY}`, { cause: new Error(KEY) }) });
  log.logger.info({ msg: `key ${KEY}`, deep: { list: [KEY] }, headers: { authorization: 'Bearer abc' } });
  log.logger.debug({ msg: 'too much' });
  log.stream.flush();
  const text = texts.join('');
  expect(text).not.toContain('abcdefgh');
  expect(text).not.toContain('Bearer');
  const lines = text.split('\n').slice(0, -1);
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['error', 'info']);
});

it('formats JSON log lines for a terminal', () => {
  const pretty = createPrettyLines();
  const time = '2026-03-14T02:15:00.000Z';
  const request = {
    level: 'info',
    time,
    id: 'x',
    method: 'GET',
    path: '/v1/brands',
    status: 200,
    ms: 1.5,
    cache: 'kept',
  };
  const job = { level: 'error', time, msg: 'job nightly failed\u001b[2J', job: 'nightly\u009b2J\u202e' };
  const text = pretty(`${JSON.stringify(request)}\n${JSON.stringify(job)}\n`);
  const lines = text.split('\n').slice(0, -1);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('GET /v1/brands 200 1.5 ms kept');
  expect(lines[1]).toMatch(/ERROR.*job nightly failed\\u001b\[2J.*nightly\\u009b2J\\u202e/);
});
