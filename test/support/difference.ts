/** A member of a body whose values differ; `[]` stands for any row. */
export interface Difference {
  readonly field: string;
  readonly expected: unknown;
  readonly served: unknown;
}

const TOLERANCE = 1e-9;
/** Compares two bodies. Cursors are compared only by whether they are null. */
export function differencesOf(expected: unknown, served: unknown, field = ''): Difference[] {
  if (Array.isArray(expected) && Array.isArray(served)) return differencesOfLists(expected, served, field);
  if (isObject(expected) && isObject(served)) {
    const names = new Set([...Object.keys(expected), ...Object.keys(served)]);
    return [...names].flatMap((name) => {
      const path = field === '' ? name : `${field}.${name}`;
      const [left, right] = [member(expected, name), member(served, name)];
      if (name === 'nextCursor' && typeof left === 'string' && typeof right === 'string') return [];
      return differencesOf(left, right, path);
    });
  }
  return isSame(expected, served) ? [] : [{ field, expected, served }];
}

function differencesOfLists(expected: readonly unknown[], served: readonly unknown[], field: string): Difference[] {
  const rows = `${field}[]`;
  const [left, right] = [expected.map(identityOf), served.map(identityOf)];
  if (left.join() === right.join()) {
    return expected.flatMap((row, index) => differencesOf(row, served[index], rows));
  }
  const isOrder = [...left].sort().join() === [...right].sort().join();
  return [{ field: `${rows} (${isOrder ? 'order' : 'rows'})`, expected: left, served: right }];
}

const IDENTITY = [
  'id',
  'date',
  'engine',
  'source',
  'promptId',
  'groupId',
  'url',
  'domain',
  'entityType',
  'name',
  'slug',
];

// The members that tell one row of a list from another.
function identityOf(row: unknown): string {
  if (!isObject(row)) return String(row);
  return IDENTITY.filter((name) => Object.hasOwn(row, name))
    .map((name) => String(row[name]))
    .join('|');
}

function isSame(left: unknown, right: unknown): boolean {
  if (typeof left === 'number' && typeof right === 'number') {
    return Math.abs(left - right) <= TOLERANCE * Math.max(1, Math.abs(left));
  }
  return left === right;
}

// A member that is absent differs from one that is null.
function member(body: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(body, name) ? body[name] : '(absent)';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
