/** Maximum number of writes in one transaction. */
const WRITES_MAX = 16;

/** Runs writes within a transaction, in their order, and returns the result of each. */
export type WriteAll<Session, Write, Result> = (
  session: Session,
  writes: readonly Write[],
) => Promise<readonly Result[]>;

/** Joins writes that wait at the same time, see `Database.groupCommit`. */
export interface CommitGroups<Session> {
  /** Returns a function that adds a write to the last group of the queue, or to a new one. */
  of<Write, Result>(writeAll: WriteAll<Session, Write, Result>): (write: Write) => Promise<Result>;
  /** Makes the next write start a new group. */
  end(): void;
}

interface Waiting<Write, Result> {
  readonly write: Write;
  readonly resolve: (result: Result) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Creates groups that wait in the queue of `enqueue` until they run in a `transaction`. */
export function createCommitGroups<Session>(
  enqueue: (work: () => Promise<void>) => Promise<void>,
  transaction: <T>(work: (session: Session) => Promise<T>) => Promise<T>,
): CommitGroups<Session> {
  let last: unknown = null;
  const end = (group: unknown): void => {
    if (last === group) last = null;
  };
  return {
    of: <Write, Result>(writeAll: WriteAll<Session, Write, Result>) => {
      const commit = async (group: readonly Waiting<Write, Result>[]): Promise<void> => {
        const writes = group.map(({ write }) => write);
        const results = await transaction((session) => writeAll(session, writes));
        for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
      };
      let group: Waiting<Write, Result>[] = [];
      const begin = (): void => {
        const own: Waiting<Write, Result>[] = [];
        group = own;
        last = own;
        const run = async (): Promise<void> => {
          end(own);
          await commit(own).catch(async (thrown: unknown) => {
            if (own.length === 1) own[0]?.reject(thrown);
            else for (const one of own) await commit([one]).catch(one.reject);
          });
        };
        enqueue(run).catch((thrown: unknown) => {
          // The group has not begun: the warehouse is closed or damaged.
          end(own);
          for (const { reject } of own) reject(thrown);
        });
      };
      return (write: Write) =>
        new Promise<Result>((resolve, reject) => {
          if (last !== group || group.length >= WRITES_MAX) begin();
          group.push({ write, resolve, reject });
        });
    },
    end: () => {
      last = null;
    },
  };
}
