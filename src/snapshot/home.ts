/** Who checks a workspace out. */
export interface Holder {
  /** The process and its machine, for what others are told. */
  readonly name: string;
  /**
   * The task on whose behalf: whoever comes with the same may take the workspace at once, because it is known elsewhere, as
   * by the lease of a queue, that the one before is dead. Null for nobody's.
   */
  readonly via: string | null;
}

/** The place where the data of a workspace outlive whoever works on them. */
export interface Home {
  /**
   * Makes the workspace's folder what the home has, down to the last page that was made durable there, and claims it. Throws
   * `warehouse_locked` with who has it, `home_failed`, and the signal's reason.
   */
  checkOut(holder: Holder, signal: AbortSignal): Promise<CheckedOut>;
  /**
   * Brings the warehouse file that was checked in last to `path` (written aside, verified, renamed) unless it is `known`;
   * claims nothing. Null where nothing was checked in.
   */
  fetchCopy(path: string, known: string | null): Promise<FetchedCopy | null>;
  /** Null where nothing was ever checked out. */
  state(): Promise<HomeState | null>;
  close(): void;
}

/** A workspace that this process has checked out; whoever was there before can neither check in nor publish any more. */
export interface CheckedOut {
  /** Grows with each check-out: what fences those before. */
  readonly epoch: number;
  /** Aborted with `lease_lost` once another has taken the workspace, or the claim could not be renewed in time. */
  readonly lost: AbortSignal;
  /** Null where what is on this machine's disk is durable enough. */
  readonly journal: Journal | null;
  /**
   * Makes what the folder holds the newest state of the home, and gives its version; null where there is no warehouse. It is
   * closed by then. Throws `lease_lost`.
   */
  checkIn(): Promise<string | null>;
  /**
   * Makes the kept files of the folder, but for those of kept folders, the home's at once: whoever takes over from a process that
   * never checks in finds them. Throws `lease_lost` and `home_failed`.
   */
  keepFiles(): Promise<void>;
  /** Lets others have it; what was not checked in goes on, for whoever is next, at the last page in the journal. */
  release(): Promise<void>;
}

/** Makes what a warehouse commits durable before it is checked in. */
export interface Journal {
  /** Takes up a warehouse that was opened so that it keeps its log; what it gives is called before that is closed. */
  follow(warehouse: FollowedWarehouse): () => Promise<void>;
  /** Resolves once all that was committed when it was called is durable in the home. Throws `lease_lost`. */
  durable(): Promise<void>;
}

/** An open warehouse, as the journal needs it. */
export interface FollowedWarehouse {
  /** Runs work while no transaction is open; `fold` writes the log into the file. */
  alone<T>(work: (fold: () => Promise<void>) => Promise<T>): Promise<T>;
}

/** What `fetchCopy` brought. */
export interface FetchedCopy {
  readonly version: string;
  readonly isNew: boolean;
  /** When it was checked in, ISO 8601. */
  readonly savedAt: string;
}

/** What is known of a home without checking it out. */
export interface HomeState {
  readonly epoch: number;
  readonly claim: { readonly holder: string; readonly via: string | null; readonly until: string } | null;
  /** When it was checked in last, ISO 8601; null for never. */
  readonly savedAt: string | null;
  /** Size of the warehouse file that was checked in last. */
  readonly bytes: number;
  /** Pieces of the journal that are not in that file yet, as far as they were told. */
  readonly journalPieces: number;
}
