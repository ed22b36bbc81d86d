import { brandOf, type Full, type Item, type Step, type Version } from './notes.ts';

/** The current state of a row, and its versions. */
interface Kept {
  content: string;
  /** The columns that start a new version when they change. */
  telling: string;
  deleted: boolean;
  detailed: string | null;
  full: Full | null;
  readonly versions: Version[];
}

/** The rows by resource, brand and id. */
export type Model = Map<string, Kept>;

/** Applies a step that was written at a time to the model. */
export function applyStep(model: Model, one: Step, at: number): void {
  const brand = brandOf(one);
  switch (one.kind) {
    case 'list':
      for (let time = 0; time < (one.again ? 2 : 1); time++) {
        for (const page of one.pages) {
          // If a page contains a key twice, the last item counts.
          for (const last of new Map(page.map((entry) => [entry.id, entry])).values()) putItem(model, brand, last, at);
        }
        const listed = new Set(one.pages.flat().map(({ id }) => `notes ${brand} ${id}`));
        if (one.closes) endAbsent(model, `notes ${brand}`, listed, at);
      }
      return;
    case 'detail':
      for (let time = 0; time < (one.again ? 2 : 1); time++) putFull(model, brand, one.full, at);
      return;
    case 'gone': {
      const kept = model.get(`notes ${brand} ${one.id}`);
      if (kept !== undefined && !kept.deleted) end(kept, at);
      return;
    }
    case 'report': {
      const place = `sums ${brand} ${one.day}`;
      const rows = new Map(one.sums.map((row) => [`${place} ${row.of}`, row]));
      for (const [key, { count }] of rows) write(model, key, JSON.stringify({ count }), JSON.stringify({ count }), at);
      endAbsent(model, place, new Set(rows.keys()), at);
    }
  }
}

function putItem(model: Model, brand: string, note: Item, at: number): void {
  const key = `notes ${brand} ${note.id}`;
  const kept = model.get(key);
  const telling = { text: note.text, extra: note.more === undefined ? null : { more: note.more }, lines: note.lines };
  const full = kept?.full ?? null;
  const whole = { ...telling, ...(full === null ? none : { body: full.body, marks: full.marks }) };
  const before = kept?.content;
  const content = JSON.stringify({ ...whole, checkedAt: note.checkedAt });
  const renewed = kept !== undefined && (kept.deleted || before !== content);
  write(model, key, content, JSON.stringify(whole), at);
  if (renewed) (model.get(key) as Kept).detailed = null;
}

const none = { body: null, marks: [] };

function putFull(model: Model, brand: string, given: Full, at: number): void {
  const key = `notes ${brand} ${given.id}`;
  const kept = model.get(key);
  if (kept === undefined) return;
  const detailed = JSON.stringify(given);
  if (kept.detailed === detailed) return;
  const [content, telling] = [kept.content, kept.telling].map((json) =>
    JSON.stringify({ ...JSON.parse(json), body: given.body, marks: given.marks }),
  ) as [string, string];
  const first = kept.detailed === null;
  kept.detailed = detailed;
  kept.full = given;
  if (!kept.deleted && !first) {
    write(model, key, content, telling, at);
    return;
  }
  kept.content = content;
  kept.telling = telling;
  const last = kept.versions.at(-1) as Version;
  if (!kept.deleted) last.content = content;
}

function write(model: Model, key: string, content: string, telling: string, at: number): void {
  const old = model.get(key);
  if (old === undefined) {
    const versions = [{ from: at * 1000, to: null, change: 'inserted', content }];
    model.set(key, { content, telling, deleted: false, detailed: null, full: null, versions });
    return;
  }
  const last = old.versions.at(-1) as Version;
  if (old.deleted)
    old.versions.push({ from: Math.max(at * 1000, last.from + 1), to: null, change: 'restored', content });
  else if (canonical(old.telling) !== canonical(telling)) {
    last.to = Math.max(at * 1000, last.from + 1);
    old.versions.push({ from: last.to, to: null, change: 'updated', content });
  } else last.content = content;
  Object.assign(old, { content, telling, deleted: false });
}

function end(kept: Kept, at: number): void {
  const last = kept.versions.at(-1) as Version;
  last.to = Math.max(at * 1000, last.from + 1);
  kept.versions.push({ from: last.to, to: last.to, change: 'deleted', content: last.content });
  kept.deleted = true;
}

function endAbsent(model: Model, place: string, listed: ReadonlySet<string>, at: number): void {
  for (const [key, kept] of model) {
    if (key.startsWith(place) && !kept.deleted && !listed.has(key)) end(kept, at);
  }
}

function canonical(json: string): string {
  return JSON.stringify(Object.entries(JSON.parse(json) as object).sort());
}
