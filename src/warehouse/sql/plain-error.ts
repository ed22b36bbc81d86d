/** A kind of DuckDB's messages about unknown names, and the same in plain words. */
interface Form {
  readonly pattern: RegExp;
  readonly plain: (groups: readonly string[]) => string;
}

const FORMS: readonly Form[] = [
  {
    pattern:
      /^Catalog Error: Table with name "?([^"\n]+?)"? does not exist because schema "([^"\n]+)" does not exist\./,
    plain: ([, schema]) => `unknown schema "${schema}"; the schemas are main, mart and sync`,
  },
  {
    pattern: /^Catalog Error: (Table|Schema|Type) with name (\S+) does not exist!(?:\nDid you mean "([^"\n]+)"\?)?/,
    plain: ([kind, name, nearest]) => `unknown ${kind?.toLowerCase()} "${name}"${nearestOf(nearest)}`,
  },
  {
    pattern:
      /^Catalog Error: (?:Scalar |Aggregate |Table )?(?:Macro )?Function with name (\S+) does not exist!(?:\nDid you mean "([^"\n]+)"\?)?/,
    plain: ([name, nearest]) => `unknown function ${name}()${nearestOf(nearest)}`,
  },
  {
    pattern:
      /^Binder Error: Referenced column "([^"\n]+)" not found in FROM clause!(?:\s*Candidate bindings: :? ?([^\n]+))?/,
    plain: ([name, nearest]) => `unknown column "${name}"${nearestOf(nearest)}`,
  },
  {
    pattern:
      /^Binder Error: Table "([^"\n]+)" does not have a column named "([^"\n]+)"(?:\s*Candidate bindings: :? ?([^\n]+))?/,
    plain: ([table, name, nearest]) => `table "${table}" has no column "${name}"${nearestOf(nearest)}`,
  },
  {
    pattern: /^Binder Error: Referenced table "([^"\n]+)" not found!(?:\s*Candidate tables: ([^\n]+))?/,
    plain: ([name, tables]) => `the query has no table "${name}"${tables === '' ? '' : `; it has ${tables}`}`,
  },
];

/** Returns DuckDB's message about an unknown name in plain words, with the nearest names and the line; others unchanged. */
export function plainError(text: string): string {
  for (const { pattern, plain } of FORMS) {
    const [whole, ...groups] = pattern.exec(text) ?? [];
    if (whole !== undefined) return plain(groups.map((group) => group ?? '')) + text.slice(whole.length);
  }
  return text;
}

function nearestOf(names = ''): string {
  if (names === '') return '';
  return `; nearest: ${names.includes('"') ? names : `"${names}"`}`;
}
