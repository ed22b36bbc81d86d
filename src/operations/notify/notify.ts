import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import { readBriefPicture } from './brief-picture.ts';
import { mailOf } from './compose-mail.ts';
import { DELIVERY_LIMITS, delivery, type DeliveryLimits, deliver, type Send } from './deliver.ts';
import { type DataFreshness, type Draft, noteFreshness, noteOutcome, noteResolved, type Outcome } from './judge.ts';
import { bodyOf, inOneLine, textOf, withoutSecrets } from './message.ts';
import { changeTold, inTurn, readTold, type Told, type Waiting } from './notify-state.ts';
import { mailSender } from './send-mail.ts';
import { webhookSender } from './send-webhook.ts';

/** Waiting messages per target, at most. The oldest are dropped. */
const WAITING_MAX = 50;
/** A message that could not be delivered for this long is dropped. */
const WAITING_MS_MAX = 72 * 3_600_000;

/** The setting of a webhook, for messages. */
export const NOTIFY_EXAMPLE =
  '"notify": [{ "urlVariable": "ALERTS_URL", "format": "slack" }], with the address in the variable ALERTS_URL';

/** The workspace of a notification, and the services to send it with. */
export interface Notifying {
  readonly config: Pick<WorkspaceConfig, 'name' | 'folder' | 'notify'>;
  readonly clock: Clock;
  /** Stops sending. Unsent messages are sent with the next notification. */
  readonly signal: AbortSignal;
  readonly limits?: DeliveryLimits;
  /** Called with a sentence about each failed delivery, without the address. */
  readonly log: (sentence: string) => void;
}

/** Events to report: outcomes, drift, and the freshness of the data if known. */
export interface News {
  readonly outcomes?: readonly Outcome[];
  /** New drift in upstream's responses, with a summary in a few words. */
  readonly drift?: { readonly summary: string; readonly runId: string; readonly findings: readonly object[] } | null;
  /** A message is sent for each. */
  readonly briefs?: readonly Brief[];
  /** Omitted if unknown. */
  readonly freshness?: DataFreshness;
}

/**
 * Records events of a workspace and sends the resulting messages and those that could not be sent before. All processes together
 * send each message once, and a reminder per day. Does not throw if a receiver fails.
 *
 * @throws `config_invalid` if an address or a secret is not set.
 */
export async function notify(notifying: Notifying, news: News): Promise<void> {
  const { config, clock, signal, log } = notifying;
  const { folder } = config;
  const targets = config.notify();
  if (targets.length === 0) return;
  await inTurn(folder, async () => {
    const nowMs = clock.now();
    const take = (into: Told): void => {
      const drafts = draftsOf(into, targets, news, nowMs);
      const dropped = enqueue(into, config.name, targets, drafts, nowMs);
      if (dropped > 0) log(`Dropped ${dropped} messages that could not be delivered for three days.`);
    };
    // If the state cannot be written, such as on a full disk, still send the message, because the problem is worth reporting.
    const told = await changeTold(folder, nowMs, take, (thrown) =>
      log(`Cannot record the sent messages, so they may be sent again: ${toSightlineError(thrown).message}.`),
    );
    if (told.waiting.length === 0 || signal.aborted) return;
    const settled = await Promise.all(targets.map((target) => sendWaiting(notifying, told, target, targets)));
    // Record the sent messages, so that later processes do not send them again.
    const sent = new Set(settled.flat());
    if (sent.size === 0) return;
    // Read the state again, because other processes may have added messages.
    const leave = (now: Told): void => {
      now.waiting = now.waiting.filter(({ id }) => !sent.has(id));
    };
    await changeTold(folder, nowMs, leave, () => undefined);
  });
}

/** The webhooks, and the troubles that were reported. */
export const listedTargets = z.object({
  targets: z.array(
    z.object({
      urlVariable: z.string(),
      format: z.string(),
      events: z.array(z.string()),
      staleHours: z.number(),
      isSigned: z.boolean(),
      waiting: number.describe('messages that could not be delivered yet'),
    }),
  ),
  troubles: z.array(z.object({ what: z.string(), since: time })),
});

/** The webhooks, and the troubles that were reported. */
export type ListedTargets = ValueOf<typeof listedTargets>;

/** Lists the targets of a workspace. */
export async function listTargets(config: Notifying['config'], nowMs: number): Promise<ListedTargets> {
  const { outages, waiting } = await readTold(config.folder, nowMs);
  const targets = config.notify().map((target) => {
    const { urlVariable, format, events, staleHours, secret } = target;
    const waits = waiting.filter((message) => message.target === keyOf(target)).length;
    return { urlVariable, format, events, staleHours, isSigned: secret !== null, waiting: waits };
  });
  return { targets, troubles: Object.entries(outages).map(([what, { since }]) => ({ what, since })) };
}

/** Result of a test message. */
export const testedTarget = delivery.extend({ urlVariable: z.string(), format: z.string() });

type Tested = ValueOf<typeof testedTarget>;

/** Sends a test message to every target, without retries, and returns each response. Throws `config_invalid` if there are none. */
export async function notifyTest(notifying: Notifying): Promise<Tested[]> {
  const { config, clock, signal, limits = DELIVERY_LIMITS } = notifying;
  const targets = targetsOf(config);
  return Promise.all(
    targets.map(async (target) => {
      const waiting = toWaiting(target, config.name, 'test', {}, targets, clock.now());
      const send = senderOf(target, notifying, waiting);
      const delivery = await deliver(send, { clock, signal, limits: { ...limits, attemptsMax: 1 } });
      const { urlVariable, format } = target;
      return { ...withoutSecrets(delivery, targets), urlVariable, format };
    }),
  );
}

/** Identifies a target within its workspace. */
function keyOf({ urlVariable, format }: NotifyTarget): string {
  return `${urlVariable} ${format}`;
}

function draftsOf(told: Told, targets: readonly NotifyTarget[], news: News, nowMs: number): Draft[] {
  const drafts = (news.outcomes ?? []).flatMap((outcome) => noteOutcome(told, outcome, nowMs));
  if (news.drift !== undefined && news.drift !== null) {
    drafts.push({ event: 'drift', target: null, data: { ...news.drift } });
  }
  for (const brief of news.briefs ?? []) drafts.push({ event: 'brief', target: null, data: { ...brief } });
  if (news.freshness !== undefined) {
    drafts.push(...noteResolved(told, news.freshness, nowMs));
    const staleAfter = targets
      .filter(({ events }) => events.includes('stale'))
      .map((target) => ({ key: keyOf(target), hours: target.staleHours }));
    const hasRecovered = drafts.some(({ event }) => event === 'recovery');
    const fresh = noteFreshness(told, staleAfter, news.freshness, nowMs);
    // A recovery that is reported already covers the freshness too.
    drafts.push(...fresh.filter(({ event }) => event !== 'recovery' || !hasRecovered));
  }
  return drafts;
}

// Returns the number of messages that were dropped because they waited too long.
function enqueue(
  told: Told,
  workspace: string,
  targets: readonly NotifyTarget[],
  drafts: readonly Draft[],
  nowMs: number,
): number {
  const known = targets.map(keyOf);
  const wanted = told.waiting.filter(({ target }) => known.includes(target));
  told.waiting = wanted.filter(({ createdAt }) => nowMs - Date.parse(createdAt) <= WAITING_MS_MAX);
  const expired = wanted.length - told.waiting.length;
  for (const { event, target: only, data } of drafts) {
    for (const target of targets) {
      const key = keyOf(target);
      if (!target.events.includes(event) || (only !== null && only !== key)) continue;
      told.waiting.push(toWaiting(target, workspace, event, data, targets, nowMs));
    }
  }
  for (const key of known) {
    const ofTarget = told.waiting.filter(({ target }) => target === key);
    const dropped = new Set(ofTarget.slice(0, Math.max(0, ofTarget.length - WAITING_MAX)));
    told.waiting = told.waiting.filter((waiting) => !dropped.has(waiting));
  }
  return expired;
}

function toWaiting(
  target: NotifyTarget,
  workspace: string,
  event: string,
  data: Draft['data'],
  targets: readonly NotifyTarget[],
  nowMs: number,
): Waiting {
  const clean = withoutSecrets({ text: inOneLine(textOf(workspace, event, data)), data: { ...data } }, targets);
  const createdAt = new Date(nowMs).toISOString();
  return { id: `msg_${randomUUID().replaceAll('-', '')}`, target: keyOf(target), createdAt, event, ...clean };
}

function senderOf(target: NotifyTarget, { config, clock }: Notifying, waiting: Waiting): Send {
  const { id, data } = waiting;
  const { name, folder } = config;
  if (target.mail === null) return webhookSender(target, { id, body: bodyOf(target, name, waiting) }, clock);
  const picture =
    waiting.event === 'brief' ? readBriefPicture(folder, String(data['brandId']), String(data['to'])) : null;
  return mailSender(target, { id, ...mailOf(target, name, waiting, picture) });
}

// Sends in order and stops at the first failure. Returns the IDs that need not be sent again.
async function sendWaiting(
  notifying: Notifying,
  told: Told,
  target: NotifyTarget,
  targets: readonly NotifyTarget[],
): Promise<string[]> {
  const { clock, signal, log, limits = DELIVERY_LIMITS } = notifying;
  const settled: string[] = [];
  const key = keyOf(target);
  const startedAt = clock.monotonic();
  for (const waiting of told.waiting.filter((candidate) => candidate.target === key)) {
    // A slow receiver gets the remaining messages with the next notification.
    if (clock.monotonic() - startedAt >= limits.totalMs) break;
    const delivery = await deliver(senderOf(target, notifying, waiting), { clock, signal, limits });
    if (delivery.isDelivered || !delivery.mayRetry) settled.push(waiting.id);
    if (delivery.isDelivered) continue;
    if (signal.aborted) break;
    const { said } = withoutSecrets(delivery, targets);
    const then = delivery.mayRetry ? 'it will be sent again with the next notification' : 'it will not be sent again';
    log(`The message to ${target.urlVariable} (${waiting.event}) was not accepted: the receiver ${said}; ${then}.`);
    break;
  }
  return settled;
}

function targetsOf(config: Notifying['config']): readonly NotifyTarget[] {
  const targets = config.notify();
  if (targets.length > 0) return targets;
  const message = `notify is not set for workspace ${config.name}; allowed in sightline.config.json: ${NOTIFY_EXAMPLE}`;
  throw new SightlineError('config_invalid', message);
}
