/** Dependencies of `createPool`. */
export interface PoolParts<T> {
  /** Maximum number of open members; the least recently used is closed first. */
  readonly openMax: number;
  open(name: string): Promise<T>;
  /** Closes a member after its last use. */
  close(member: T): Promise<void>;
  /** Returns a text that changes when the member must be opened again; default: it never changes. */
  version?(name: string): string;
  /** Called if a member with another version cannot be opened. The previous one then stays in use; default: the use fails. */
  readonly onStale?: (thrown: unknown) => void;
  /** Called for a member that was replaced while it is in use. */
  readonly onReplaced?: (member: T) => void;
}

/** Members that are opened when they are used, and closed after their last use. */
export interface Pool<T> {
  /** Opens the member for one use, unless its current version is open. */
  enter(name: string): Promise<Stay<T>>;
  /** Runs `work` with a member, which stays open until `work` ends. */
  use<R>(name: string, work: (member: T) => Promise<R>): Promise<R>;
  /** Names of the open members and of those being opened, least recently used first. */
  names(): string[];
  /** Returns the open members. */
  present(): readonly T[];
  close(): Promise<void>;
}

/** A use of a member, which stays open until `leave` is called. */
export interface Stay<T> {
  readonly member: T;
  leave(): void;
}

interface Held<T> {
  readonly member: T;
  uses: number;
  isEvicted: boolean;
  /** Called when its last use ends. */
  onUnused?: () => void;
}

/** A member that is open or being opened. */
interface Opening<T> {
  readonly version: string;
  readonly held: Promise<Held<T>>;
}

/** Creates an empty pool. */
export function createPool<T>(parts: PoolParts<T>): Pool<T> {
  const openings = new Map<string, Opening<T>>();
  const present = new Set<Held<T>>();
  const { retire, idle } = createRetirement<T>(parts, present);
  const evict = (name: string): void => {
    const evicted = openings.get(name);
    openings.delete(name);
    if (evicted !== undefined) retire(evicted, false);
  };
  const openingOf = createOpenings(parts, { openings, present, retire, evict });
  const enter = async (name: string): Promise<Stay<T>> => {
    const opening = openingOf(name);
    // Re-insert at the end, so that the map is ordered from least to most recently used.
    openings.delete(name);
    openings.set(name, opening);
    try {
      const held = await opening.held;
      if (held.isEvicted && held.uses === 0) return enter(name);
      held.uses += 1;
      let isInside = true;
      const leave = (): void => {
        if (!isInside) return;
        isInside = false;
        held.uses -= 1;
        if (held.uses === 0) held.onUnused?.();
      };
      return { member: held.member, leave };
    } catch (thrown) {
      if (openings.get(name) === opening) openings.delete(name);
      throw thrown;
    }
  };
  return {
    enter,
    use: async (name, work) => {
      const { member, leave } = await enter(name);
      try {
        return await work(member);
      } finally {
        leave();
      }
    },
    names: () => [...openings.keys()],
    present: () => [...present].map(({ member }) => member),
    close: async () => {
      for (const name of [...openings.keys()]) evict(name);
      await idle();
    },
  };
}

interface Known<T> {
  readonly openings: ReadonlyMap<string, Opening<T>>;
  readonly present: Set<Held<T>>;
  retire(opening: Opening<T>, isReplaced: boolean): void;
  evict(name: string): void;
}

// Returns the function that opens a member, unless its current version is open.
function createOpenings<T>(parts: PoolParts<T>, { openings, present, retire, evict }: Known<T>) {
  const { openMax, onStale, version: versionOf = () => '' } = parts;
  const open = async (name: string): Promise<Held<T>> => {
    const held: Held<T> = { member: await parts.open(name), uses: 0, isEvicted: false };
    present.add(held);
    return held;
  };
  const reopen = (name: string, before: Opening<T>): Promise<Held<T>> => {
    if (onStale === undefined) {
      retire(before, true);
      return open(name);
    }
    return open(name).then(
      (held) => {
        retire(before, true);
        return held;
      },
      (thrown: unknown) => {
        onStale(thrown);
        return before.held;
      },
    );
  };
  return (name: string): Opening<T> => {
    const version = versionOf(name);
    const existing = openings.get(name);
    if (existing?.version === version) return existing;
    if (existing !== undefined) return { version, held: reopen(name, existing) };
    if (openings.size >= openMax) evict(openings.keys().next().value as string);
    return { version, held: open(name) };
  };
}

// Closes members after their last use.
function createRetirement<T>({ close, onReplaced }: PoolParts<T>, present: Set<Held<T>>) {
  const closing = new Set<Promise<void>>();
  const retireHeld = async (held: Held<T>, isReplaced: boolean): Promise<void> => {
    held.isEvicted = true;
    if (held.uses > 0) {
      const unused = new Promise<void>((resolve) => (held.onUnused = resolve));
      if (isReplaced) onReplaced?.(held.member);
      await unused;
    }
    present.delete(held);
    await close(held.member);
  };
  const retire = ({ held: opening }: Opening<T>, isReplaced: boolean): void => {
    // The users of a member that cannot be opened get its error. A member that cannot be closed is not used again.
    const work = opening.then((held) => retireHeld(held, isReplaced)).catch(() => undefined);
    const tracked = work.finally(() => closing.delete(tracked));
    closing.add(tracked);
  };
  const idle = async (): Promise<void> => {
    while (closing.size > 0) await Promise.all(closing);
  };
  return { retire, idle };
}
