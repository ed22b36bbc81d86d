import { createHmac } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { SightlineError } from '../../src/base/errors.ts';
import type { Brief } from '../../src/metrics/explain/brief-result.ts';
import type { CheckContext } from '../../src/operations/doctor/check-context.ts';
import { checkWebhooks } from '../../src/operations/doctor/check-records.ts';
import { readBriefPicture, writeBriefPicture } from '../../src/operations/notify/brief-picture.ts';
import type { Outcome } from '../../src/operations/notify/judge.ts';
import { type News, notify, notifyTest } from '../../src/operations/notify/notify.ts';
import { runOnReplica } from '../../src/operations/run-on-replica.ts';
import { briefBrand } from '../../src/read/metrics/brief-brand.ts';
import { openCli, serve } from '../cli/helpers.ts';
import { openCopy } from '../serve/served-world.ts';
import { temporaryFolder } from '../support/folders.ts';

const KEY = Buffer.from('a secret of thirty-two bytes, no').toString('base64');
const HOUR_MS = 3_600_000;
/** Only to catch hangs. */
const MAIL_MS = 60_000;
/** Members of an e-mail. */
const MAILED = { format: 'email', to: ['a@b'], from: 'c@d' };

const BRIEF: Brief = {
  ...{ brandId: 'b1', brand: 'Northwind', from: '2026-02-15', to: '2026-03-14', responses: 400 },
  ...{ beforeFrom: '2026-01-18', beforeTo: '2026-02-14', asOf: null, completeTo: null, partial: false },
  headline: 'Visibility fell from 50.0 % to 40.0 %.',
  verdict: 'changed',
  findings: [
    {
      ...{ kind: 'prompt_lost', tone: 'bad', size: '2', detail: null, metric: null, engine: null },
      ...{ sentence: '2 prompts lost the brand.', page: '/competitors?brand=b1' },
    },
  ],
};

/** A receiver on loopback. It sends the elements of `answers` in turn, then 204. */
async function receiver(...answers: ((response: ServerResponse) => void)[]) {
  const received: { headers: IncomingHttpHeaders; text: string; body: Record<string, never> }[] = [];
  const { origin, close } = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = JSON.parse(text) as Record<string, never>;
      received.push({ headers: request.headers, text, body });
      const answer = answers.shift() ?? ((to: ServerResponse) => to.writeHead(204).end());
      answer(response);
    });
  });
  onTestFinished(close);
  return { url: `${origin}/hook/T0SECRETPATH`, received, answers };
}

/** A workspace with webhook settings but without data, and a clock that the test advances. */
async function teller(environment: Record<string, string>, targets: readonly object[], attemptMs = 200) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ notify: targets }));
  const config = loadConfig({ flags: {}, environment, folder });
  const time = { now: Date.parse('2026-03-14T02:15:00Z'), slept: [] as number[] };
  const clock: Clock = {
    now: () => time.now,
    monotonic: () => time.now,
    random: () => 0.5,
    sleep: async (ms) => void time.slept.push(ms),
  };
  const said: string[] = [];
  const limits = { attemptsMax: 4, attemptMs, totalMs: 30_000 + 4 * attemptMs, backoffMs: 1_000 };
  const { signal } = new AbortController();
  const notifying = { config, clock, signal, limits, log: (sentence: string) => void said.push(sentence) };
  return { config, time, said, notifying, tell: (news: News) => notify(notifying, news) };
}

const failing = (message: string, scope: string | null = null): Outcome => ({
  what: 'sync',
  scope,
  job: null,
  runId: null,
  failure: { status: 'failed', code: 'unreachable', message },
});
const well = (scope: string | null = null): Outcome => ({ ...failing('', scope), failure: null });
const status =
  (code: number, headers = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end();

it('signs a message, retries it unchanged while the receiver fails, and does not follow redirects', async () => {
  const hang = (): void => undefined;
  const { url, received } = await receiver(status(500), status(429, { 'retry-after': '7' }), hang);
  const told = await teller({ HOOK: url, SECRET: `whsec_${KEY}` }, [{ urlVariable: 'HOOK', secretVariable: 'SECRET' }]);
  await told.tell({ outcomes: [failing(`gsk_abcdefgh12345678 was refused at ${url} by whsec_${KEY}`)] });
  expect(received).toHaveLength(4);
  expect(told.time.slept).toEqual([750, 7_000, 3_000]);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(received.map(({ text }) => text)).size).toBe(1);
  for (const { headers, text } of received) {
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${text}`;
    const digest = createHmac('sha256', Buffer.from(KEY, 'base64')).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${digest}`);
    expect(Number(headers['webhook-timestamp'])).toBe(told.time.now / 1000);
    for (const secret of ['abcdefgh', 'T0SECRETPATH', KEY]) expect(text).not.toContain(secret);
  }
  expect(received[0]?.body).toMatchObject({
    version: 1,
    type: 'failure',
    workspace: 'default',
    data: { what: 'sync', status: 'failed', code: 'unreachable', reminder: false },
  });
  expect(told.said).toEqual([]);
  const kept = await readFile(join(told.config.folder, 'notify.json'), 'utf8');
  expect(kept).not.toMatch(/abcdefgh|T0SECRET/);

  const elsewhere = await receiver();
  const away = await receiver(status(307, { location: elsewhere.url }));
  const other = await teller({ HOOK: away.url }, [{ urlVariable: 'HOOK' }]);
  await other.tell({ outcomes: [failing('down')] });
  expect([away.received.length, elsewhere.received.length]).toEqual([1, 0]);
  // The status counts as the result, even if the rest of the response is slow.
  const slow = await receiver((to) => to.writeHead(200).write('tak'));
  const taken = await teller({ HOOK: slow.url }, [{ urlVariable: 'HOOK' }]);
  expect(await notifyTest(taken.notifying)).toMatchObject([{ isDelivered: true, said: 'answered 200: tak' }]);
  const echo = await receiver((to) => to.writeHead(404).end('no hook is called T0TOKEN0123456789'));
  const echoed = await teller({ HOOK: `${echo.url}/T0TOKEN0123456789` }, [{ urlVariable: 'HOOK' }]);
  await echoed.tell({ outcomes: [failing('down')] });
  expect(echoed.said).toEqual([expect.stringContaining('no hook is called …;')]);
  const shown = await receiver((to) => to.writeHead(404).end(String(to.req.headers['webhook-signature'])));
  const signed = await teller({ HOOK: shown.url, SECRET: KEY }, [{ urlVariable: 'HOOK', secretVariable: 'SECRET' }]);
  expect(await notifyTest(signed.notifying)).toMatchObject([{ said: 'answered 404: v1,…' }]);
  expect(other.said).toEqual([
    expect.stringMatching(/HOOK .*answered 307, a redirect, which sightline does not follow/),
  ]);
});

it('reports an outage once, reminds daily, reports the recovery, and stores undelivered messages for the next notification', async () => {
  const { url, received } = await receiver(...[1, 2, 3, 4].map(() => status(503)));
  const told = await teller({ HOOK: url }, [{ urlVariable: 'HOOK' }]);
  await told.tell({ outcomes: [failing('down')] });
  expect(told.said).toEqual([
    expect.stringContaining('answered 503; it will be sent again with the next notification'),
  ]);
  const id = received[0]?.headers['webhook-id'];
  told.time.now += HOUR_MS;
  // Success of one part does not end the outage of everything, and failure of one part does not begin a second outage.
  await told.tell({ outcomes: [failing('down', 'a part')] });
  expect(received.slice(4).map(({ headers }) => headers['webhook-id'])).toEqual([id]);
  for (const outcomes of [[well('a part')], [failing('down')], []]) await told.tell({ outcomes });
  expect(received).toHaveLength(5);
  told.time.now += 24 * HOUR_MS;
  await told.tell({ outcomes: [failing('still down')] });
  await told.tell({ outcomes: [failing('still down')] });
  expect(received.slice(5).map(({ body }) => body)).toMatchObject([{ type: 'failure', data: { reminder: true } }]);
  await told.tell({ outcomes: [well()] });
  await told.tell({ outcomes: [well()] });
  expect(received.slice(6).map(({ body }) => body)).toMatchObject([
    { type: 'recovery', data: { what: 'sync', since: '2026-03-14T02:15:00.000Z' } },
  ]);
});

it('webhooks are checked by doctor for settings and for messages that wait', async () => {
  const { url } = await receiver(...[1, 2, 3, 4].map(() => status(503)));
  const told = await teller({ HOOK: url }, [{ urlVariable: 'HOOK' }]);
  const check = ({ notifying } = told) => checkWebhooks({ context: notifying } as unknown as CheckContext);
  const isOk = [{ status: 'ok', message: '1 webhook configured; no message waits for delivery' }];
  expect(await check()).toEqual(isOk);
  await told.tell({ outcomes: [failing('down')] });
  expect(await check()).toMatchObject([{ status: 'warning', message: expect.stringContaining('1 message') as string }]);
  await told.tell({ outcomes: [] });
  expect(await check()).toEqual(isOk);
  const unset = await teller({}, [{ urlVariable: 'HOOK' }]);
  await expect(check(unset)).rejects.toThrow('HOOK is not set');
});

it('reports that syncs work again when syncs of all parts have read everything since the outage began', async () => {
  const { url, received } = await receiver();
  const told = await teller({ HOOK: url }, [{ urlVariable: 'HOOK' }]);
  await told.tell({ outcomes: [failing('down')] });
  const [before, after] = [told.time.now - 1, told.time.now + 1];
  // Data that were read before the outage, or a sync that still lacks a part, do not end it.
  await told.tell({ freshness: { asOfMs: before, isResolved: true } });
  await told.tell({ outcomes: [well('a part')], freshness: { asOfMs: after, isResolved: false } });
  expect(received).toHaveLength(1);
  await told.tell({ outcomes: [well('the rest')], freshness: { asOfMs: after, isResolved: true } });
  expect(received.slice(1).map(({ body }) => body)).toMatchObject([{ type: 'recovery', data: { what: 'sync' } }]);
});

it("reports stale data once after each target's limit, and once when the data are current again", async () => {
  const { url, received } = await receiver();
  const both = [
    { urlVariable: 'HOOK', staleHours: 30, events: ['stale', 'recovery'] },
    { urlVariable: 'HOOK', format: 'slack', events: ['stale'] },
  ];
  const told = await teller({ HOOK: url }, both);
  const completedAt = told.time.now;
  for (const hours of [29, 31, 35, 37, 38]) {
    told.time.now = completedAt + hours * HOUR_MS;
    await told.tell({ freshness: { asOfMs: completedAt, isResolved: true } });
  }
  expect(received).toHaveLength(2);
  const [json, slack] = received;
  const text = 'data are stale: they are 37 hours old. Oldest complete read: 2026-03-14 02:15 UTC.';
  expect(slack?.body).toMatchObject({ text: expect.stringContaining(text) as string });
  expect(json?.body).toMatchObject({ type: 'stale', data: { ageHours: 31, staleHours: 30, reminder: false } });
  await told.tell({ freshness: { asOfMs: told.time.now, isResolved: true } });
  expect(received.slice(2).map(({ body }) => body)).toMatchObject([{ type: 'recovery', data: { what: 'data' } }]);
  await told.tell({ outcomes: [failing('nobody asked')], drift: { summary: 'x', runId: 'x', findings: [] } });
  expect(received).toHaveLength(3);
});

it('sends what happened to each brand in one message each, to the webhooks that ask for it', async () => {
  const { url, received } = await receiver();
  const told = await teller({ HOOK: url }, [
    { urlVariable: 'HOOK', events: ['brief'] },
    { urlVariable: 'HOOK', format: 'slack', events: ['failure'] },
  ]);
  await told.tell({ briefs: [BRIEF, { ...BRIEF, brand: 'Other', findings: [] }] });
  expect(received.map(({ body }) => body['text'])).toEqual([
    'Northwind: Visibility fell from 50.0 % to 40.0 %. 2 prompts lost the brand.',
    'Other: Visibility fell from 50.0 % to 40.0 %.',
  ]);
  expect(received[0]?.body).toMatchObject({ type: 'brief', data: BRIEF });
});
/** A mail server on loopback. It answers the messages with the statuses of `faults` in turn, then accepts them. */
async function mailServer(...faults: number[]) {
  const received: { to: readonly string[]; user: unknown; text: string }[] = [];
  const logins: unknown[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) => {
      logins.push(password);
      done(null, { user: username });
    },
    onData: async (stream, { envelope, user }, done) => {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      // https://www.rfc-editor.org/rfc/rfc2045#section-6.7
      const text = Buffer.concat(chunks).toString().replaceAll('=\r\n', '').replaceAll('=3D', '=');
      received.push({ to: envelope.rcptTo.map(({ address }) => address), user, text });
      const status = faults.shift();
      done(status === undefined ? null : Object.assign(new Error('no room for MAILSECRET'), { responseCode: status }));
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  return { url: `smtp://me:MAILSECRET@127.0.0.1:${port}`, port, received, logins };
}

it('draws the picture of a brief', async () => {
  const { config, brandId } = await openCopy('tiny', onTestFinished);
  const clock = systemClock;
  const { folder } = config;
  await mkdir(join(folder, 'reports'));
  for (const day of ['2026-01-01', '2026-03-01'])
    await writeFile(join(folder, 'reports', `brief-${brandId}-${day}.png`), '');
  const brief = await runOnReplica(
    { config, clock, signal: new AbortController().signal },
    async (source) => {
      const found = await briefBrand(source, new URLSearchParams({ brand: brandId }));
      await writeBriefPicture(source, found, folder);
      return found;
    },
    new URLSearchParams(),
  );
  expect(readBriefPicture(folder, brandId, brief.to)?.subarray(1, 4).toString()).toBe('PNG');
  // A message of an earlier brief may still wait.
  expect(readBriefPicture(folder, brandId, '2026-03-01')).not.toBeNull();
  expect(readBriefPicture(folder, brandId, '2026-01-01')).toBeNull();
});

it('sends e-mails by SMTP, again after a transient failure, and no password over a connection that others can read', async () => {
  const { url, port, received, logins } = await mailServer(452);
  const mail = {
    urlVariable: 'MAIL',
    format: 'email',
    to: ['a@x.example', 'b@x.example'],
    from: 'sightline@x.example',
  };
  const told = await teller({ MAIL: url }, [{ ...mail, link: 'https://pages.example/sightline/' }], MAIL_MS);
  const reports = join(told.notifying.config.folder, 'reports');
  await mkdir(reports, { recursive: true });
  await writeFile(join(reports, `brief-${BRIEF.brandId}-${BRIEF.to}.png`), 'a picture');
  await told.tell({ briefs: [{ ...BRIEF, brand: '<Northwind>' }] });
  expect(received).toHaveLength(2);
  expect(new Set(received.map(({ text }) => /^Message-ID: .*$/im.exec(text)?.[0])).size).toBe(1);
  const [first, last] = received;
  expect(first).toMatchObject({ to: mail.to, user: 'me' });
  expect(last?.text).toContain('Subject: <Northwind>: Visibility fell from 50.0 % to 40.0 %.');
  expect(last?.text).toContain('- 2: 2 prompts lost the brand. https://pages.example/sightline/competitors?brand=b1');
  expect(last?.text).toContain('&lt;Northwind&gt;: Visibility fell');
  const [, cid] = /<img src="cid:([^"]+)"/.exec(last?.text ?? '') ?? [];
  expect(last?.text).toMatch(new RegExp(`^Content-Id: <${cid}>`, 'im'));
  expect(last?.text).toContain(Buffer.from('a picture').toString('base64'));
  expect(last?.text).toContain('<a href="https://pages.example/sightline/competitors?brand=b1"');
  expect(told.said).toEqual([]);

  const refusing = await mailServer(550);
  const refused = await teller({ MAIL: refusing.url }, [mail], MAIL_MS);
  await refused.tell({ outcomes: [failing('down')] });
  expect(refused.said).toEqual([
    expect.stringMatching(/to MAIL .*answered 550 no room for …; it will not be sent again/),
  ]);
  // The server has no STARTTLS.
  const open = await teller({ MAIL: `smtp://me:MAILSECRET@0.0.0.0:${port}` }, [mail], MAIL_MS);
  const before = logins.length;
  expect(await notifyTest(open.notifying)).toMatchObject([{ isDelivered: false }]);
  expect(logins).toHaveLength(before);
  const silent = createSocketServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const waiting = await teller({ MAIL: `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}` }, [mail]);
  expect(await notifyTest(waiting.notifying)).toMatchObject([{ said: 'did not answer within 0.2 s' }]);
});

it('sends cards to Teams whose text is not read as Markdown, and links in Slack', async () => {
  const { url, received } = await receiver();
  const told = await teller({ HOOK: url }, [
    { urlVariable: 'HOOK', format: 'teams', link: 'https://pages.example' },
    { urlVariable: 'HOOK', format: 'slack', link: 'https://pages.example' },
  ]);
  await told.tell({ outcomes: [failing('[x](https://evil.example)')] });
  const attachments = received[0]?.body['attachments'] as unknown as readonly { readonly content: object }[];
  expect(attachments.map(({ content }) => content)).toMatchObject([
    {
      type: 'AdaptiveCard',
      body: [
        { type: 'RichTextBlock', inlines: [{ text: expect.stringContaining('[x](https://evil.example)') as string }] },
        {},
      ],
      actions: [{ type: 'Action.OpenUrl', url: 'https://pages.example/' }],
    },
  ]);
  expect(received[1]?.text).toContain('<https://pages.example/|Open the data pages>');
});

it('keeps messages that another process adds while a receiver is slow, and reports a state file that cannot be written once', async () => {
  const answers: ServerResponse[] = [];
  const { url, received } = await receiver((to) => void answers.push(to));
  const told = await teller({ HOOK: url }, [{ urlVariable: 'HOOK' }]);
  const path = join(told.config.folder, 'notify.json');
  const sending = told.tell({ outcomes: [failing('down')] });
  await expect.poll(() => answers.length).toBe(1);
  const kept = JSON.parse(await readFile(path, 'utf8')) as { outages: object };
  const other = { since: '2026-03-14T02:15:00.000Z', scope: null, toldAt: '2026-03-14T02:15:00.000Z' };
  await writeFile(path, JSON.stringify({ ...kept, outages: { ...kept.outages, export: other } }));
  answers[0]?.writeHead(204).end();
  await sending;
  expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ outages: { sync: {}, export: other }, waiting: [] });
  // A time in the future, left by a clock that was a year ahead, does not suppress reminders.
  told.time.now -= 365 * 24 * HOUR_MS;
  await told.tell({ outcomes: [failing('down')] });
  expect(received.map(({ body }) => body)).toMatchObject([{ data: { reminder: false } }, { data: { reminder: true } }]);

  await rm(path);
  await mkdir(path);
  for (const attempt of [1, 2, 3]) await told.tell({ outcomes: [failing(`down ${attempt}`)] });
  expect(received).toHaveLength(3);
  expect(told.said).toEqual([1, 2, 3].map(() => expect.stringContaining('Cannot record the sent messages') as string));
  expect(await readdir(told.config.folder)).toEqual(['notify.json']);
});

it('escapes messages for Slack, and rejects wrong settings without showing their value', async () => {
  const { url, received } = await receiver();
  const told = await teller({ HOOK: url }, [{ urlVariable: 'HOOK', format: 'slack' }]);
  await told.tell({ outcomes: [failing('<!channel> & <https://evil.example|click>\n@Channel \u202Eedoc')] });
  const escaped = '&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt; @\u200BChannel  edoc';
  expect(received[0]?.body).toMatchObject({
    text: expect.stringContaining(escaped) as string,
    blocks: [{ type: 'section', text: { type: 'mrkdwn' } }, { type: 'context' }],
  });
  expect(received[0]?.text).not.toContain('<!');
  const wrong: [Record<string, string>, object, RegExp][] = [
    [{}, {}, /^HOOK is not set; allowed: the https URL/],
    [{ HOOK_FILE: '/nowhere' }, {}, /^HOOK_FILE: the file \/nowhere cannot be read/],
    [{ HOOK: 'http://hooks.example/SECRETPATH' }, {}, /^HOOK is not the URL of a webhook/],
    [{ HOOK: 'https://me:SECRETPATH@hooks.example' }, {}, /^HOOK contains a user name/],
    [{ HOOK: url, S: 'whsec_!!!' }, { secretVariable: 'S' }, /^S is not a signing secret/],
    [
      { HOOK: url },
      { urlVariable: 'https://hooks.example/SECRETPATH' },
      /urlVariable is not valid \(value not shown\); allowed: the name/,
    ],
    [
      { HOOK: url },
      { events: ['all'] },
      /events.0 is "all"; allowed: a list of failure, recovery, drift, stale, brief/,
    ],
    [{ HOOK: url }, { url }, /unknown setting "url"; allowed: urlVariable, format/],
    [{ HOOK: url }, { to: ['a@b'] }, /the format json has no "to" and "from"/],
    [{ HOOK: url }, { format: 'email' }, /the format email needs "to"/],
    [{ HOOK: url }, { format: 'email', to: ['a@b'], from: 'a' }, /from is "a"; allowed: an e-mail address/],
    [{ HOOK: url }, { ...MAILED, secretVariable: 'S' }, /"secretVariable"; e-mails are not signed/],
    [{ HOOK: 'https://SECRETPATH' }, MAILED, /^HOOK is not the URL of a mail server; allowed: smtps:/],
    [{ HOOK: 'smtps://me:SECRETPATH%@mail.example' }, MAILED, /^HOOK has a % in the user name or password/],
    [{ HOOK: 'smtp://SECRETPATH@2852039166' }, MAILED, /^HOOK is not the URL of a mail server/],
    [{ HOOK: url }, { link: 'ftp://x' }, /link is not valid \(value not shown\); allowed: the http or https address/],
  ];
  for (const [environment, changes, message] of wrong) {
    const made = teller(environment, [{ urlVariable: 'HOOK', ...changes }]).then(({ config }) => config.notify());
    await expect(made).rejects.toThrow(message);
    await expect(made).rejects.not.toThrow(/SECRETPATH/);
    await expect(made).rejects.toBeInstanceOf(SightlineError);
  }
  const gone = await teller({ HOOK: 'http://127.0.0.1:9/SECRETPATH' }, [{ urlVariable: 'HOOK' }]);
  expect(await notifyTest(gone.notifying)).toMatchObject([{ isDelivered: false, attempts: 1, status: null }]);
});

it('sends messages for a failed sync, a recovered sync and drift, and a test message on request', async () => {
  const { url, received } = await receiver();
  const workspace = await openCli({ world: 'tiny' });
  const none = await workspace.run('notify', '--test');
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('"urlVariable": "ALERTS_URL"') as string });
  const listed = await workspace.run('notify', '--json');
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('No webhooks. Add one in ') as string });
  expect(JSON.parse(listed.stdout)).toEqual({ targets: [], troubles: [] });
  const config = { notify: [{ urlVariable: 'ALERTS_URL', events: ['failure', 'recovery', 'drift'] }] };
  await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify(config));
  await writeFile(join(workspace.folder, '.env'), `ALERTS_URL=${url}\n`);

  workspace.sandbox.setKey(workspace.sandbox.key, 'disabled');
  const failed = await workspace.run('sync');
  expect(failed.code, failed.stderr).toBe(1);
  await workspace.run('jobs', 'run', 'nightly');
  expect(received.map(({ body }) => body)).toMatchObject([
    { type: 'failure', data: { what: 'sync', code: 'unauthorized' } },
  ]);
  workspace.sandbox.setKey(workspace.sandbox.key, 'active');
  workspace.sandbox.setFaults([{ kind: 'unknownfields' }]);
  const synced = await workspace.run('sync');
  expect(synced.code, synced.stderr).toBe(0);
  expect(received.slice(1).map(({ body }) => body)).toMatchObject([
    { type: 'recovery', data: { what: 'sync' } },
    {
      type: 'drift',
      data: { findings: expect.arrayContaining([expect.objectContaining({ kind: 'unknown_field' })]) as object },
    },
  ]);
  const tested = await workspace.run('notify', '--test', '--json');
  expect(tested.code, tested.stderr).toBe(0);
  expect(JSON.parse(tested.stdout)).toMatchObject([{ urlVariable: 'ALERTS_URL', status: 204, isDelivered: true }]);
  expect(received.at(-1)?.body).toMatchObject({ type: 'test' });
  const all = received.map(({ text }) => text).join('') + failed.stderr + tested.stderr + tested.stdout;
  expect(all).not.toContain(workspace.sandbox.key);
  expect(failed.stderr + tested.stderr + tested.stdout).not.toContain('T0SECRETPATH');
});
