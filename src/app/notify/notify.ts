import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import type { NotifyEvent, NotifyTarget } from '../../base/notify-settings.ts';
import { DELIVERY_LIMITS, type Delivery, type DeliveryLimits, deliver } from './deliver.ts';
import { type Draft, noteFreshness, noteOutcome, type Outcome } from './judge.ts';
import { bodyOf, inOneLine, textOf, withoutSecrets } from './message.ts';
import { changeTold, inTurn, type Told, type Waiting } from './state.ts';

/** Messages to one target that wait at most; the oldest go. */
const WAITING_MAX = 50;
/** A message that could not be delivered for so long tells nothing any more. */
const WAITING_MS_MAX = 72 * 3_600_000;

/** Whose news they are, and what they are sent with. */
export interface Notifying {
  readonly config: Pick<WorkspaceConfig, 'name' | 'folder' | 'notify'>;
  readonly clock: Clock;
  /** Aborted to stop: what could not be sent is sent with the next news. */
  readonly signal: AbortSignal;
  readonly limits?: DeliveryLimits;
  /** Told in a sentence, without an address, what could not be delivered. */
  readonly log: (sentence: string) => void;
}

/** What has happened: how things ended, what drifted, and when a sync was last complete, where that is known. */
export interface News {
  readonly outcomes?: readonly Outcome[];
  /** What of upstream's answers is new, and the same in a few words. */
  readonly drift?: { readonly summary: string; readonly runId: string; readonly findings: readonly object[] } | null;
  /** When a sync of all there is was last complete, epoch milliseconds, or null for never; left out where unknown. */
  readonly lastCompleteMs?: number | null;
}

/**
 * Takes news of a workspace, tells whoever wants to know, and sends what could not be sent before. What is told once is
 * not told again by whichever process, but for a reminder a day. Does not throw for what a receiver does; throws
 * `config_invalid` where an address or a secret is not set.
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
      const givenUp = enqueue(into, config.name, targets, drafts, nowMs);
      if (givenUp > 0) log(`Messages that nobody took for three days are given up: ${givenUp}.`);
    };
    // A disk that is full is worth telling of, also where it cannot be kept that it was told.
    const told = await changeTold(folder, nowMs, take, (thrown) =>
      log(`What was told cannot be kept, and may be told again: ${toSightlineError(thrown).message}.`),
    );
    if (told.waiting.length === 0 || signal.aborted) return;
    const settled = await Promise.all(targets.map((target) => sendWaiting(notifying, told, target, targets)));
    // What was sent meanwhile is not sent again, also by who is started next.
    const gone = new Set(settled.flat());
    if (gone.size === 0) return;
    // Others may have had news meanwhile.
    const leave = (now: Told): void => {
      now.waiting = now.waiting.filter(({ id }) => !gone.has(id));
    };
    await changeTold(folder, nowMs, leave, () => undefined);
  });
}

/** What a target answered to a test. */
export interface Tested extends Delivery {
  readonly urlVariable: string;
  readonly format: string;
}

/** Sends a test message to every target, once, and gives what each answered. */
export async function notifyTest({ config, clock, signal, limits = DELIVERY_LIMITS }: Notifying): Promise<Tested[]> {
  const targets = config.notify();
  return Promise.all(
    targets.map(async (target) => {
      const waiting = toWaiting(target, config.name, 'test', {}, targets, clock.now());
      const message = { id: waiting.id, body: bodyOf(target, config.name, waiting) };
      const delivery = await deliver(target, message, { clock, signal, limits: { ...limits, attemptsMax: 1 } });
      const { urlVariable, format } = target;
      return { ...withoutSecrets(delivery, targets), urlVariable, format };
    }),
  );
}

/** By what a target is told from another of the workspace. */
export function keyOf({ urlVariable, format }: NotifyTarget): string {
  return `${urlVariable} ${format}`;
}

function draftsOf(told: Told, targets: readonly NotifyTarget[], news: News, nowMs: number): Draft[] {
  const drafts = (news.outcomes ?? []).flatMap((outcome) => noteOutcome(told, outcome, nowMs));
  if (news.drift !== undefined && news.drift !== null) {
    drafts.push({ event: 'drift', target: null, data: { ...news.drift } });
  }
  if (news.lastCompleteMs !== undefined) {
    const staleAfter = targets
      .filter(({ events }) => events.includes('stale'))
      .map((target) => ({ key: keyOf(target), hours: target.staleHours }));
    const hasRecovered = drafts.some(({ event }) => event === 'recovery');
    const fresh = noteFreshness(told, staleAfter, news.lastCompleteMs, nowMs);
    // Of one recovery one message is enough.
    drafts.push(...fresh.filter(({ event }) => event !== 'recovery' || !hasRecovered));
  }
  return drafts;
}

// Gives how many messages waited too long.
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
  const givenUp = wanted.length - told.waiting.length;
  for (const { event, target: only, data } of drafts) {
    for (const target of targets) {
      const key = keyOf(target);
      if (!target.events.includes(event satisfies NotifyEvent) || (only !== null && only !== key)) continue;
      told.waiting.push(toWaiting(target, workspace, event, data, targets, nowMs));
    }
  }
  for (const key of known) {
    const ofTarget = told.waiting.filter(({ target }) => target === key);
    const dropped = new Set(ofTarget.slice(0, Math.max(0, ofTarget.length - WAITING_MAX)));
    told.waiting = told.waiting.filter((waiting) => !dropped.has(waiting));
  }
  return givenUp;
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

// In their order; where one does not get through, those behind it wait too. Gives the ids that are settled.
async function sendWaiting(
  { config, clock, signal, log, limits = DELIVERY_LIMITS }: Notifying,
  told: Told,
  target: NotifyTarget,
  targets: readonly NotifyTarget[],
): Promise<string[]> {
  const settled: string[] = [];
  const key = keyOf(target);
  const startedAt = clock.monotonic();
  for (const waiting of told.waiting.filter((candidate) => candidate.target === key)) {
    // A receiver that takes its time with each is given the rest with the next news.
    if (clock.monotonic() - startedAt >= limits.totalMs) break;
    const message = { id: waiting.id, body: bodyOf(target, config.name, waiting) };
    const delivery = await deliver(target, message, { clock, signal, limits });
    if (delivery.isDelivered || !delivery.mayRetry) settled.push(waiting.id);
    if (delivery.isDelivered) continue;
    if (signal.aborted) break;
    const { said } = withoutSecrets(delivery, targets);
    const then = delivery.mayRetry ? 'it is sent again with the next news' : 'it is not sent again';
    log(`The message to ${target.urlVariable} (${waiting.event}) was not taken: the receiver ${said}; ${then}.`);
    break;
  }
  return settled;
}

/** The error of a workspace that tells nobody. */
export function nobodyToTell(workspace: string): SightlineError {
  const example = '"notify": [{ "urlVariable": "ALERTS_URL", "format": "slack" }]';
  const message = `workspace ${workspace} tells nobody: notify is not set; allowed in sightline.config.json: ${example}, with the address in the variable ALERTS_URL`;
  return new SightlineError('config_invalid', message);
}
