import { z } from 'zod';
import { errorTable, type SightlineError, toSightlineError } from '../../base/errors.ts';
import { toExactJson } from '../../base/json.ts';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { nextCursorOf, pagesOf } from '../../contract/paging.ts';
import type { DayOf } from '../../contract/plausibility/day-zone.ts';
import type { KnownAnswer } from '../../metrics/calibration/points/point.ts';
import type { Service } from '../../read/service.ts';
import type { AskUpstream, UpstreamReply } from '../../sync/ask-upstream.ts';
import type { Database } from '../../warehouse/database.ts';
import { keepAnswer } from '../../warehouse/ledger/answers.ts';
import type { ComparedQuestion } from '../../warehouse/ledger/comparisons.ts';
import { type BodyDifference, bodyDifference, differencesOfResponses } from './body-differences.ts';
import type { CompareQuestion } from './compare-questions.ts';

/** Differences of a response that are kept. */
const LISTED_MAX = 20;
/** Data that were read longer ago than this may lack what upstream has now: lists and recent days; days that were over when they were read. */
const FRESH_MS = { open: 15 * 60_000, over: 6 * 3_600_000 } as const;

/** A question with different responses of upstream and of the workspace. */
export const differingQuestion = z.object({
  resource: z.string(),
  brandId: z.string().nullable(),
  member: z.string().nullable(),
  page: z.int().describe('number of the page, from 1'),
  query: z.record(z.string(), z.string()),
  convention: z
    .string()
    .nullable()
    .describe('the points and values with which both responses would be equal, `name: value`, separated by semicolons'),
  differences: z.array(bodyDifference),
});

/** A compared question with its differences. */
export type Compared = ComparedQuestion & ValueOf<typeof differingQuestion>;

/** A compared question without an explanation. */
export interface ComparedReply {
  readonly question: Compared;
  /** The response of upstream, if it differs and is computed here. */
  readonly answer: KnownAnswer | null;
}

/** Result of a comparison. */
export interface Comparison {
  /** Time of the comparison, epoch milliseconds. */
  readonly at: number;
  readonly runId: string;
  readonly seed: number;
  readonly requests: number;
  readonly questions: readonly Compared[];
  /** Error that ended the comparison early, or null. */
  readonly error: SightlineError | null;
}

/** Dependencies of `comparePages`. */
export interface Asking {
  readonly catalogue: Catalogue;
  readonly ask: AskUpstream;
  readonly service: Service;
  readonly database: Database;
  readonly runId: string;
}

/** Cursors of the next page, of upstream and our own. */
interface Cursors {
  readonly upstream: string;
  readonly own: string;
}

/**
 * Asks upstream a question, answers it from the stored data, and compares the responses, page by page. Each side follows its own cursor;
 * after a difference the pages need not have the same rows, so it is the last one.
 */
export async function* comparePages(
  question: CompareQuestion,
  asking: Asking,
): AsyncGenerator<ComparedReply, void, undefined> {
  let cursors: Cursors | null = null;
  for (let page = 1; page <= question.pages; page++) {
    const compared: { result: ComparedReply; next: Cursors | null } = await comparePage(
      question,
      cursors,
      page,
      asking,
    );
    yield compared.result;
    if (compared.next === null || compared.result.question.verdict !== 'equal') return;
    cursors = compared.next;
  }
}

async function comparePage(
  question: CompareQuestion,
  cursors: Cursors | null,
  page: number,
  asking: Asking,
): Promise<{ result: ComparedReply; next: Cursors | null }> {
  const resource = asking.catalogue.get(question.resource);
  const at = (cursor: string | undefined): CompareQuestion => {
    const name = Object.keys(resource.query).find((one) => resource.query[one]?.kind === 'cursor');
    if (cursor === undefined || name === undefined) return question;
    return { ...question, query: { ...question.query, [name]: cursor } };
  };
  const theirs = await asking.ask(at(cursors?.upstream));
  const ours = await answerOf(at(cursors?.own), resource, asking);
  const result = await compareReplies(question, { theirs, ours, page }, asking);
  const upstream = theirs.body === null ? null : readCursor(theirs.body, resource);
  return { result, next: upstream === null || ours.next === null ? null : { upstream, own: ours.next } };
}

function readCursor(body: string, resource: Resource): string | null {
  try {
    return nextCursorOf(parse(body), pagesOf(resource));
  } catch {
    return null;
  }
}

async function compareReplies(
  question: CompareQuestion,
  { theirs, ours, page }: { readonly theirs: UpstreamReply; readonly ours: OwnReply; readonly page: number },
  asking: Asking,
): Promise<ComparedReply> {
  const { resource: name, brandId, member, query } = question;
  const { catalogue, database, runId, service } = asking;
  const resource = catalogue.get(name);
  const body = theirs.body === null ? null : parse(theirs.body);
  const differences = differencesOfResponses({ status: theirs.status, body }, ours);
  const listed = differences.slice(0, LISTED_MAX);
  const fields = fieldsOf(differences);
  const base = { resource: name, brandId, member, page, query, differences: listed, fields, convention: null };
  if (differences.length === 0) return { question: { ...base, verdict: 'equal', detail: null }, answer: null };
  const { daysOf } = await service.newest();
  const excuse = excuseOf(query, { theirs, ours, days: daysOf(name, brandId) }, differences);
  if (excuse !== null) return { question: { ...base, verdict: 'skipped', detail: excuse }, answer: null };
  const detail = `${page === 1 ? '' : `page ${page}: `}${detailOf(differences[0] as BodyDifference)}`;
  const differing = { ...base, verdict: 'differs', detail } as const;
  if (resource.computes === undefined || brandId === null) return { question: differing, answer: null };
  const { status, at: askedAt } = theirs;
  const answer = { resource: name, brandId, query, status, askedAt };
  const kept = { ...answer, purpose: 'compare', body: theirs.body } as const;
  await database.transaction((session) => keepAnswer(session, runId, kept));
  return { question: differing, answer: { ...answer, body, isSettled: true, isFresh: true } };
}

/** Our own response. */
interface OwnReply {
  readonly status: number;
  readonly body: unknown;
  /** When upstream last confirmed the data of the response, epoch milliseconds. */
  readonly asOf: number | null;
  readonly partial: boolean;
  /** Cursor of the next page. */
  readonly next: string | null;
}

async function answerOf(
  { brandId, member, query }: CompareQuestion,
  resource: Resource,
  { service }: Asking,
): Promise<OwnReply> {
  const path: Record<string, string> = {};
  for (const [, name] of resource.path.matchAll(/\{(\w+)\}/g)) {
    const isMember = resource.change.kind === 'detail' && resource.change.parameter === name;
    path[name as string] = (isMember ? member : brandId) ?? '';
  }
  const served = service.namesOf(resource);
  const parameters = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [served[name] ?? name, value]),
  );
  try {
    const question = await service.ask(resource, path, parameters);
    const { body, nextCursor } = await question.answer();
    const { asOf, partial } = question;
    return { status: 200, body: JSON.parse(toExactJson(body)) as unknown, asOf, partial, next: nextCursor };
  } catch (thrown) {
    const { code } = toSightlineError(thrown);
    const kind = errorTable[code];
    if (!('status' in kind) || kind.status >= 500) throw thrown;
    return { status: kind.status, body: null, asOf: null, partial: false, next: null };
  }
}

// Upstream's data may have changed since they were synced. Other differences, such as the order of rows or a title, would not follow from that.
function excuseOf(
  { to }: CompareQuestion['query'],
  { theirs: { at }, ours, days }: { readonly theirs: UpstreamReply; readonly ours: OwnReply; readonly days: DayOf },
  differences: readonly BodyDifference[],
): string | null {
  const { asOf, partial } = ours;
  if (partial) return 'the stored data of this question are not complete yet';
  const isChanged = differences.some(
    ({ kind, upstream, own }) => kind.endsWith('row') || typeof upstream === 'number' || typeof own === 'number',
  );
  if (!isChanged || asOf === null) return null;
  const isOver = to !== undefined && to < days(asOf);
  if (at - asOf <= (isOver ? FRESH_MS.over : FRESH_MS.open)) return null;
  return `upstream may have changed in the ${Math.round((at - asOf) / 60_000)} minutes since the data were synced; run \`sightline sync\` first`;
}

function fieldsOf(differences: readonly BodyDifference[]): string[] {
  return [...new Set(differences.map(({ field, kind }) => (kind === 'value' ? field : `${field} (${kind})`)))];
}

/** Describes a difference: field, upstream's value and our own. */
export function detailOf({ field, kind, upstream, own }: BodyDifference): string {
  const shown = (value: unknown, isAbsent: boolean): string => {
    const text = isAbsent ? 'nothing' : JSON.stringify(value);
    return text.length > 120 ? `${text.slice(0, 120)}…` : text;
  };
  const [theirs, ours] = [shown(upstream, kind.startsWith('extra')), shown(own, kind.startsWith('missing'))];
  return `${field}${kind === 'value' ? '' : `, ${kind}`}: upstream ${theirs}, own ${ours}`;
}

// Unpaired surrogates are replaced as in the warehouse, which cannot store them.
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_name, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value));
  } catch {
    return null;
  }
}
