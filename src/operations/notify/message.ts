import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { hideKeys } from '../../base/errors.ts';
import { shownTime } from '../../contract/time.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import type { Draft } from './judge.ts';
import type { Waiting } from './notify-state.ts';

/** Version of the payload. It changes if a member is removed or changes its meaning. */
const PAYLOAD_VERSION = 1;
/** Slack accepts 3,000 characters in a block, counted after escaping. */
const SLACK_CHARACTERS_MAX = 2_900;
const TEXT_CHARACTERS_MAX = 1_000;
/** URL parts of at least this length are probably secret. */
const TOKEN_CHARACTERS_MIN = 16;

/** Shorter passwords also occur in words. */
const PASSWORD_CHARACTERS_MIN = 4;

/** Formats an event as one or two sentences. */
export function textOf(workspace: string, event: string, data: Draft['data']): string {
  const of = `Workspace ${workspace}`;
  const job = data['job'] === null || data['job'] === undefined ? '' : ` (job ${String(data['job'])})`;
  const what = String(data['what']);
  const still = data['reminder'] === true ? 'still ' : '';
  switch (event) {
    case 'failure': {
      const how = data['status'] === 'partial' ? 'is partial' : 'fails';
      const since = data['reminder'] === true ? ` since ${shownTime(String(data['since']))}` : '';
      return `${of}: ${what}${job} ${still}${how}${since}: ${String(data['message'])}`;
    }
    case 'recovery':
      return `${of}: ${what}${job} ${what === 'data' ? 'are current again; they were stale' : 'works again; it had failed'} since ${shownTime(String(data['since']))}.`;
    case 'drift':
      return `${of}: upstream's responses have changed: ${String(data['summary'])}.`;
    case 'stale': {
      const age = `data are ${still}stale:`;
      const hours = `${String(data['ageHours'])} hours`;
      if (data['lastCompleteAt'] === null) return `${of}: ${age} for ${hours}, a list was never read completely.`;
      return `${of}: ${age} they are ${hours} old. Oldest complete read: ${shownTime(String(data['lastCompleteAt']))}.`;
    }
    case 'brief': {
      const { brand, headline, findings } = data as unknown as Brief;
      return [`${brand}: ${headline}`, ...findings.map(({ sentence }) => sentence)].join(' ');
    }
    default:
      return `${of}: this is a test message of the webhook.`;
  }
}

/** The request body in the target's format. */
export function bodyOf(target: NotifyTarget, workspace: string, waiting: Waiting): string {
  const { id, event, createdAt, text, data } = waiting;
  const link = target.link === null ? null : `${target.link}/`;
  if (target.format === 'slack') return JSON.stringify(slackOf(text, event, createdAt, link));
  if (target.format === 'teams') return JSON.stringify(teamsOf(text, event, createdAt, link));
  const payload = { version: PAYLOAD_VERSION, type: event, id, timestamp: createdAt, workspace, text, data };
  return JSON.stringify(payload);
}

/**
 * Returns content without API keys and without the targets' addresses and secrets. Shortens each text to
 * `TEXT_CHARACTERS_MAX` characters.
 */
export function withoutSecrets<T>(content: T, targets: readonly NotifyTarget[]): T {
  const secrets = targets.flatMap(secretsOf).sort((a, b) => b.length - a.length);
  const clean = (text: string): string =>
    secrets
      .reduce((cleaned, secret) => cleaned.replaceAll(secret, '…'), hideKeys(text))
      .slice(0, TEXT_CHARACTERS_MAX)
      .toWellFormed();
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), walk(inner)]));
  };
  return walk(content) as T;
}

// Includes parts of the address, because receivers often repeat an unknown token in their error message.
function secretsOf({ url, secretText, mail }: NotifyTarget): string[] {
  const steps = url.pathname.split('/').filter((step) => step.length >= TOKEN_CHARACTERS_MIN);
  const values = [...url.searchParams.values()].filter((value) => value.length >= TOKEN_CHARACTERS_MIN);
  return [
    url.href,
    ...[url.password, mail?.login?.pass ?? ''].filter(({ length }) => length >= PASSWORD_CHARACTERS_MIN),
    ...(url.pathname.length > 8 ? [`${url.host}${url.pathname}`, url.pathname] : []),
    ...(url.search.length > 8 ? [url.search] : []),
    ...steps,
    ...values,
    ...(secretText === null ? [] : [secretText, secretText.replace(/^whsec_/, '')]),
  ];
}

/** Removes line breaks, control characters and direction marks, because the text contains strings from upstream. */
export function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]+/gu, ' ');
}

// https://docs.slack.dev/messaging/formatting-message-text: only these three must be escaped. Slack-compatible receivers may
// also treat a plain @channel as a mention, so break it up.
function escapeSlack(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/@(?=(channel|here|all|everyone)\b)/gi, '@\u200B');
}

function slackOf(text: string, event: string, createdAt: string, link: string | null): object {
  const escaped = escapeSlack(text);
  // Cut before escaping, because a cut afterwards could split an escape sequence.
  const fitting =
    escaped.length <= SLACK_CHARACTERS_MAX
      ? escaped
      : escapeSlack(text.slice(0, SLACK_CHARACTERS_MAX / 5).toWellFormed());
  const open = link === null ? '' : ` · <${link}|Open the data pages>`;
  const note = `${event} · ${createdAt}${open}`;
  return {
    text: fitting,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: fitting, verbatim: true } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: note, verbatim: true }] },
    ],
  };
}

// An Adaptive Card, as the workflows of Teams take it: https://adaptivecards.io/explorer/RichTextBlock.html. Unlike that of a TextBlock,
// its text is not read as Markdown.
function teamsOf(text: string, event: string, createdAt: string, link: string | null): object {
  const block = (content: string, isSubtle: boolean): object => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: content, isSubtle }],
  });
  const card = {
    type: 'AdaptiveCard',
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    version: '1.4',
    body: [block(text, false), block(`${event} · ${createdAt}`, true)],
    ...(link === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the data pages', url: link }] }),
  };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: card }] };
}
