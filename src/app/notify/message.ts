import { hideKeys } from '../../base/errors.ts';
import type { NotifyTarget } from '../../base/notify-settings.ts';
import type { Draft } from './judge.ts';
import type { Waiting } from './state.ts';

/** Version of the payload: another one where a member changes its meaning or goes. */
const PAYLOAD_VERSION = 1;
/** Slack takes 3,000 characters in a block, counted with what escaping adds. */
const SLACK_CHARACTERS_MAX = 2_900;
const TEXT_CHARACTERS_MAX = 1_000;
/** Parts of an address this long are likely to be what makes it secret. */
const TOKEN_CHARACTERS_MIN = 16;

/** What is told in words: one or two sentences. */
export function textOf(workspace: string, event: string, data: Draft['data']): string {
  const of = `Workspace ${workspace}`;
  const job = data['job'] === null || data['job'] === undefined ? '' : ` (job ${String(data['job'])})`;
  const what = String(data['what']);
  const still = data['reminder'] === true ? 'still ' : '';
  switch (event) {
    case 'failure': {
      const how = data['status'] === 'partial' ? 'is partial' : 'fails';
      const since = data['reminder'] === true ? ` since ${String(data['since'])}` : '';
      return `${of}: ${what}${job} ${still}${how}${since}: ${String(data['message'])}`;
    }
    case 'recovery':
      return `${of}: ${what}${job} ${what === 'data' ? 'are current' : 'is well'} again, after trouble since ${String(data['since'])}.`;
    case 'drift':
      return `${of}: upstream's answers have changed: ${String(data['summary'])}.`;
    case 'stale': {
      const last =
        data['lastCompleteAt'] === null ? 'there was none' : `the last was at ${String(data['lastCompleteAt'])}`;
      return `${of}: data are ${still}stale: no complete sync for ${String(data['ageHours'])} hours; ${last}.`;
    }
    default:
      return `${of}: this is a test of the webhook. All is well.`;
  }
}

/** The body of a request, as the target reads it. */
export function bodyOf(target: NotifyTarget, workspace: string, waiting: Waiting): string {
  const { id, event, createdAt, text, data } = waiting;
  if (target.format === 'slack') return JSON.stringify(slackOf(text, event, createdAt));
  const payload = { version: PAYLOAD_VERSION, type: event, id, timestamp: createdAt, workspace, text, data };
  return JSON.stringify(payload);
}

/**
 * Content for others' eyes: without what looks like a key, without targets' addresses and secrets, and no text longer than
 * it need be.
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

// As an address may stand without its slash at the end, or in part: receivers like to repeat the token that they do not know.
function secretsOf({ url, secretText }: NotifyTarget): string[] {
  const steps = url.pathname.split('/').filter((step) => step.length >= TOKEN_CHARACTERS_MIN);
  const values = [...url.searchParams.values()].filter((value) => value.length >= TOKEN_CHARACTERS_MIN);
  return [
    url.href,
    ...(url.pathname.length > 8 ? [`${url.host}${url.pathname}`, url.pathname] : []),
    ...(url.search.length > 8 ? [url.search] : []),
    ...steps,
    ...values,
    ...(secretText === null ? [] : [secretText, secretText.replace(/^whsec_/, '')]),
  ];
}

/** A text in one line, and in the direction in which it is written: upstream's names and words are in it. */
export function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]+/gu, ' ');
}

// https://docs.slack.dev/messaging/formatting-message-text: these three are all that has to be escaped. What takes Slack's
// messages besides may call everybody together at a plain word.
function escapeSlack(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/@(?=(channel|here|all|everyone)\b)/gi, '@\u200B');
}

function slackOf(text: string, event: string, createdAt: string): object {
  const escaped = escapeSlack(text);
  // Cut before it is escaped, or it could end within an escape.
  const fitting =
    escaped.length <= SLACK_CHARACTERS_MAX
      ? escaped
      : escapeSlack(text.slice(0, SLACK_CHARACTERS_MAX / 5).toWellFormed());
  const note = `${event} · ${createdAt}`;
  return {
    text: fitting,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: fitting, verbatim: true } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: note, verbatim: true }] },
    ],
  };
}
