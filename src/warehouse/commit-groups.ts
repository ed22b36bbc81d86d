/** Maximum number of writes in one transaction. */
const WRITES_MAX = 16;

/** Joins writes that wait at the same time, see `Database.groupCommit`. */
export interface CommitGroups<Session> {
  /** Adds a write to the last group of the queue, or to a new one. */
  add<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Lets the next write begin a new group. */
  end(): void;
}

interface Write<Session> {
  readonly run: (session: Session) => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

/** Creates groups that wait in the queue of `enqueue` until they run in a `transaction`. */
export function createCommitGroups<Session>(
  enqueue: (work: () => Promise<void>) => Promise<void>,
  transaction: <T>(work: (session: Session) => Promise<T>) => Promise<T>,
): CommitGroups<Session> {
  let last: Write<Session>[] | null = null;
  const end = (group: readonly Write<Session>[]): void => {
    if (last === group) last = null;
  };
  const runAll = async (group: readonly Write<Session>[]): Promise<void> => {
    if (group.length > 1) {
      const areCommitted = await transaction(async (session) => {
        for (const { run } of group) await run(session);
      }).then(
        () => true,
        () => false,
      );
      if (areCommitted) {
        for (const { resolve } of group) resolve();
        return;
      }
    }
    for (const { run, resolve, reject } of group) await transaction(run).then(resolve, reject);
  };
  const begin = (write: Write<Session>): void => {
    const group = [write];
    last = group;
    const run = (): Promise<void> => {
      end(group);
      return runAll(group);
    };
    enqueue(run).catch((thrown: unknown) => {
      // The group has not begun: the warehouse is closed or damaged.
      end(group);
      for (const { reject } of group) reject(thrown);
    });
  };
  return {
    add: <T>(work: (session: Session) => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        let value: T;
        const run = async (session: Session): Promise<void> => {
          value = await work(session);
        };
        const write = { run, resolve: () => resolve(value), reject };
        if (last !== null && last.length < WRITES_MAX) last.push(write);
        else begin(write);
      }),
    end: () => {
      last = null;
    },
  };
}
