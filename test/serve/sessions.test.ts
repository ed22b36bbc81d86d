import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createLink, LINK_MS, openSessions, SESSION_MS, writeLinkPage } from '../../src/serve/auth/sessions.ts';
import { shortAgent } from '../../src/serve/auth/user-agent.ts';
import { sessionFilePath } from '../../src/workspace/stored-sessions.ts';
import { virtualClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';

const DAY_MS = 86_400_000;
const KEY_ID = '7f8c1f4e-4f55-4a0d-9d3a-2f3f6f0d6a51';
const OTHER_ID = '0199ab12-0000-4000-8000-000000000002';

describe('a sign-in link', () => {
  it('opens one session, and is stored as a hash that only the owner can read', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const token = await createLink(folder, clock.now());
    expect(token).toMatch(/^gsl_[A-Za-z0-9_-]{43}$/);
    expect(statSync(sessionFilePath(folder)).mode & 0o777).toBe(0o600);
    expect(readFileSync(sessionFilePath(folder), 'utf8')).not.toContain(token);
    const sessions = openSessions(folder, clock);
    const opened = await Promise.all([1, 2, 3].map(() => sessions.openWithLink(token, 'Firefox')));
    const won = opened.filter((one) => one !== null);
    expect(won).toHaveLength(1);
    expect(sessions.find(won[0]?.text ?? '')).toEqual(won[0]?.session);
    expect(readFileSync(sessionFilePath(folder), 'utf8')).not.toContain(won[0]?.text);
    expect(sessions.find(token)).toBeNull();
  });

  it('works until 10 minutes have passed', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const sessions = openSessions(folder, clock);
    const [early, late] = [await createLink(folder, clock.now()), await createLink(folder, clock.now())];
    clock.shiftWall(LINK_MS - 1);
    expect(await sessions.openWithLink(early, '')).not.toBeNull();
    clock.shiftWall(1);
    expect(await sessions.openWithLink(late, '')).toBeNull();
  });

  it('is in a page that only the user can read, which the next sign-in removes', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const token = await createLink(folder, clock.now());
    for (const link of ['http://127.0.0.1:1/sign-in#gsl_a', `http://127.0.0.1:1/sign-in#${token}`]) {
      const path = await writeLinkPage(folder, link);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readFileSync(path, 'utf8')).toContain(`content="0;url=${link}"`);
    }
    const path = await writeLinkPage(folder, `http://127.0.0.1:1/sign-in#${token}`);
    await openSessions(folder, clock).openWithLink(token, '');
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });
});

describe('a session', () => {
  it('ends 7 days after its last use', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const sessions = openSessions(folder, clock);
    const { text, session } = await sessions.openWithKey(KEY_ID, 'agent');
    clock.shiftWall(7 * DAY_MS - 1);
    expect(sessions.find(text)?.id).toBe(session.id);
    const usedAt = () => sessions.list().find(({ id }) => id === session.id)?.usedAt;
    await expect.poll(usedAt).toBe(new Date(clock.now()).toISOString());
    clock.shiftWall(7 * DAY_MS - 1);
    expect(sessions.find(text)?.id).toBe(session.id);
    await expect.poll(usedAt).toBe(new Date(clock.now()).toISOString());
    clock.shiftWall(7 * DAY_MS);
    expect(sessions.find(text)).toBeNull();
    expect(sessions.list()).toEqual([]);
  });

  it('ends 30 days after its start, however often it is used', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const sessions = openSessions(folder, clock);
    const { text, session } = await sessions.openWithKey(KEY_ID, 'agent');
    const days = SESSION_MS / DAY_MS;
    for (let day = 1; day < days; day++) {
      clock.shiftWall(DAY_MS);
      expect(sessions.find(text)?.id, `day ${day}`).toBe(session.id);
      const usedAt = (): string | undefined => {
        sessions.find(text);
        return sessions.list()[0]?.usedAt;
      };
      await expect.poll(usedAt).toBe(new Date(clock.now()).toISOString());
    }
    clock.shiftWall(DAY_MS);
    expect(sessions.find(text)).toBeNull();
  });

  it('is known to a server that starts later, until it is ended by another process', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const first = openSessions(folder, clock);
    const { text, session } = await first.openWithKey(KEY_ID, 'agent');
    const used = await createLink(folder, clock.now());
    await first.openWithLink(used, '');
    const later = openSessions(folder, clock);
    expect(later.find(text)?.keyId).toBe(KEY_ID);
    expect(await later.openWithLink(used, '')).toBeNull();
    expect(await openSessions(folder, clock).end(session.id)).toBe(true);
    await expect.poll(() => later.find(text)).toBeNull();
    expect(await later.end(session.id)).toBe(false);
  });

  it('is replaced by a newer one only of the same key, so that no key ends sessions of others', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const sessions = openSessions(folder, clock);
    const owner = await sessions.openWithLink(await createLink(folder, clock.now()), 'agent');
    const other = await sessions.openWithKey(OTHER_ID, 'agent');
    const opened: string[] = [];
    for (let time = 0; time < 105; time++) opened.push((await sessions.openWithKey(KEY_ID, 'agent')).text);
    const later = openSessions(folder, clock);
    expect(later.find(owner?.text ?? '')?.keyId).toBeNull();
    expect(later.find(other.text)?.keyId).toBe(OTHER_ID);
    expect(opened.map((text) => later.find(text) !== null)).toEqual(opened.map((_text, index) => index >= 85));
  });

  it('ends if the session file is damaged, which the next sign-in replaces', async () => {
    const [folder, clock] = [await temporaryFolder(), virtualClock()];
    const sessions = openSessions(folder, clock);
    const first = await sessions.openWithKey(KEY_ID, 'agent');
    for (const text of ['', '{', '{"version":2}', '[]']) {
      writeFileSync(sessionFilePath(folder), text);
      expect(openSessions(folder, clock).find(first.text), text).toBeNull();
    }
    const second = await sessions.openWithKey(KEY_ID, 'agent');
    expect(openSessions(folder, clock).find(second.text)?.id).toBe(second.session.id);
  });
});

it('a User-Agent is shortened to the browser and the system', () => {
  const chrome = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0';
  expect(shortAgent(`${chrome} Safari/537.36`)).toBe('Chrome on Windows');
  expect(shortAgent(`${chrome} Safari/537.36 Edg/140.0.0.0`)).toBe('Edge on Windows');
  expect(shortAgent('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')).toBe('Firefox on Linux');
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1';
  expect(shortAgent(iphone)).toBe('Safari on iOS');
  expect(shortAgent('curl/8.5.0')).toBe('curl/8.5.0');
  expect(shortAgent('x'.repeat(100))).toHaveLength(40);
});
