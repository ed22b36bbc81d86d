/** A comparison of a client's result with the truth. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** What the program of a client writes. */
export interface Written {
  readonly version: string;
  readonly checks: readonly Check[];
}

/** Result of one client: its checks, or the piece that this machine lacks. */
export type Outcome =
  | { readonly name: string; readonly kind: 'tried'; readonly version: string; readonly checks: readonly Check[] }
  | { readonly name: string; readonly kind: 'failed'; readonly message: string }
  | { readonly name: string; readonly kind: 'not tried'; readonly missing: string };

/** An entry of `results.json`. */
export interface Entry {
  readonly client: string;
  /** Version and day of the last try; null if the client was never tried. */
  readonly version: string | null;
  readonly date: string | null;
  readonly passed: number;
  /** Names of the checks that failed. */
  readonly failed: readonly string[];
  /** The missing piece, if the client was never tried. */
  readonly missing: string | null;
}

/** Returns whether an outcome makes the run fail. */
export function isFailure(outcome: Outcome): boolean {
  return outcome.kind === 'failed' || (outcome.kind === 'tried' && outcome.checks.some(({ ok }) => !ok));
}

/** Converts an outcome to lines: one, and another for each failed check. `seconds` is the time of installing and running. */
export function outcomeLines(outcome: Outcome, seconds: number): string[] {
  const { name } = outcome;
  if (outcome.kind === 'not tried') return [`NOT TRIED: ${name}: ${outcome.missing}`];
  if (outcome.kind === 'failed') return [`FAILED: ${name}: ${outcome.message}`];
  const failed = outcome.checks.filter(({ ok }) => !ok);
  const count = `${outcome.checks.length - failed.length} of ${outcome.checks.length} checks passed, ${seconds.toFixed(0)} s`;
  const verdict = failed.length > 0 ? 'FAILED' : 'ok';
  return [
    `${verdict}: ${name} ${outcome.version}: ${count}`,
    ...failed.map((check) => `    ${check.name}: ${check.detail.replaceAll('\n', ' ')}`),
  ];
}

/** Counts the outcomes in one line. */
export function summaryLine(outcomes: readonly Outcome[]): string {
  const failed = outcomes.filter(isFailure).length;
  const untried = outcomes.filter(({ kind }) => kind === 'not tried').length;
  return `${outcomes.length - failed - untried} clients passed, ${failed} failed, ${untried} NOT TRIED`;
}

/** Replaces the entries of clients that were tried. A client that was not tried keeps its last entry. */
export function mergeEntries(
  names: readonly string[],
  earlier: readonly Entry[],
  outcomes: readonly Outcome[],
  date: string,
): Entry[] {
  return names.map((name) => {
    const outcome = outcomes.find((one) => one.name === name);
    const before = earlier.find(({ client }) => client === name) ?? neverTried(name, 'not run yet');
    if (outcome === undefined) return before;
    if (outcome.kind === 'not tried') return before.date === null ? neverTried(name, outcome.missing) : before;
    if (outcome.kind === 'failed') {
      return {
        client: name,
        version: before.version,
        date,
        passed: 0,
        failed: [firstLine(outcome.message)],
        missing: null,
      };
    }
    const failed = outcome.checks.filter(({ ok }) => !ok).map((check) => check.name);
    const passed = outcome.checks.length - failed.length;
    return { client: name, version: outcome.version, date, passed, failed, missing: null };
  });
}

function neverTried(client: string, missing: string): Entry {
  return { client, version: null, date: null, passed: 0, failed: [], missing };
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.slice(0, 200) ?? '';
}
