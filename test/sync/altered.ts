import { fixtures } from '../../schemas/fixtures/all.ts';
import { insertAnswer, walkAnswers } from '../../schemas/fixtures/world/answers.ts';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import type { Fixture, Question, Row } from '../../src/sandbox/fixture.ts';
import type { TestWorkspace } from '../support/workspace.ts';

type Answering = Extract<Fixture<Workspace>, { answer: unknown }>;
type Paged = Extract<Fixture<Workspace>, { rows: unknown }>;

/** Returns another body; it may edit its own copy of the sandbox's body, or throw. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test knows the body that it edits
export type BodyEdit = (body: any, question: Question<Workspace>) => unknown;
/** Returns other rows for a page; it may throw. */
type RowsEdit = (rows: Iterable<Row>, page: { question: Question<Workspace>; isFirst: boolean }) => Iterable<Row>;

/** An endpoint of the sandbox whose responses a test changes while it runs; null restores them. */
interface Altered<Edit> {
  readonly fixtures: Record<string, Fixture<Workspace>>;
  alter(edit: Edit | null): void;
}

/** Returns a copy of the sandbox's response. */
export function bodyOf(name: string, question: Question<Workspace>): unknown {
  return structuredClone((fixtures[name] as Answering).answer(question));
}

/** An endpoint that responds with one body. */
export function alteredBody(name: string, first: BodyEdit | null = null): Altered<BodyEdit> {
  let edit = first;
  const answer: Answering['answer'] = (question) => {
    const body = bodyOf(name, question);
    return edit === null ? body : edit(body, question);
  };
  const alter = (next: BodyEdit | null): void => {
    edit = next;
  };
  return { fixtures: { [name]: { ...(fixtures[name] as Answering), answer } }, alter };
}

/** A list that is sent in pages. */
export function alteredRows(name: string, first: RowsEdit | null = null): Altered<RowsEdit> {
  const own = fixtures[name] as Paged;
  let edit = first;
  const rows: Paged['rows'] = (question, after) => {
    const listed = own.rows(question, after);
    return edit === null ? listed : edit(listed, { question, isFirst: after === undefined });
  };
  const alter = (next: RowsEdit | null): void => {
    edit = next;
  };
  return { fixtures: { [name]: { ...own, rows } }, alter };
}

/** Adds a response of the first brand that is newer than all others of its day. */
export function insertLate({ sandbox }: TestWorkspace, day: string): void {
  const { world } = sandbox;
  const [brand] = world.brands as [Workspace['brands'][number]];
  const [other] = walkAnswers(world.plan, brand, { from: day, to: day }, world.now());
  if (other === undefined) throw new Error(`no response on ${day}`);
  const id = `${other.id.slice(0, -4)}beef`;
  insertAnswer(world.plan, brand, { ...other, id, atMs: Date.parse(`${day}T23:59:58Z`), visibleAtMs: other.atMs });
}
