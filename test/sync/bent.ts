import { fixtures } from '../../schemas/fixtures/all.ts';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import type { Fixture, Question, Row } from '../../src/sandbox/fixture.ts';

type Paged = Extract<Fixture<Workspace>, { rows: unknown }>;

/** A paged list of the sandbox of which `step` changes the rows. It may throw, or leave rows out. */
export function bent(
  name: string,
  step: (question: Question<Workspace>, rows: () => Iterable<Row>, isFirst: boolean) => Iterable<Row>,
): Record<string, Fixture<Workspace>> {
  const fixture = fixtures[name] as Paged;
  return {
    [name]: { rows: (question, after) => step(question, () => fixture.rows(question, after), after === undefined) },
  };
}
