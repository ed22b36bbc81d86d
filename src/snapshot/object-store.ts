/** What a store is for: the setting that names it, and the code of the errors that it throws. */
export interface StoreUse {
  readonly setting: 'publish' | 'home';
  readonly code: 'publish_failed' | 'home_failed';
}

/** A store to which snapshots are published. */
export const PUBLISHING: StoreUse = { setting: 'publish', code: 'publish_failed' };
/** A store in which the warehouses of workspaces are at home. */
export const HOUSING: StoreUse = { setting: 'home', code: 'home_failed' };

/** An object, as far as its content need not be read. */
export interface StoredObject {
  readonly bytes: number;
  /** What whoever sent it said of it, hexadecimal; null for what was not sent from here. */
  readonly sha256: string | null;
  /** By the store's clock, epoch milliseconds. */
  readonly modifiedAt: number;
}

/** A small object, read whole. */
export interface ReadObject {
  readonly body: Buffer;
  /** Changes with each writing; `replace` takes it. */
  readonly version: string;
  /** When it was written and when it was read, both by the store's clock, epoch milliseconds; null where it does not say. */
  readonly modifiedAt: number | null;
  readonly readAt: number | null;
}

/** A file that is to be sent, or received. */
export interface FileToSend {
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/**
 * A folder of an object store; keys are relative to it. Everything throws the code of its use with what was tried and why it
 * failed, after the attempts are used up, and the signal's reason when that is aborted.
 */
export interface ObjectStore {
  /** Address of the folder, with a slash at its end. */
  readonly location: string;
  readonly use: StoreUse;
  head(key: string): Promise<StoredObject | null>;
  /** Null where there is none. */
  read(key: string): Promise<ReadObject | null>;
  /** Sends a file whole or not at all, checked against its SHA-256 before and by the store's own checksum on the way. */
  sendFile(key: string, file: FileToSend): Promise<void>;
  /**
   * Writes an object to a file that is not there yet, goes on where the connection broke, and checks it against its size and
   * SHA-256; false, and no file, where there is no such object.
   */
  receiveFile(key: string, file: FileToSend): Promise<boolean>;
  /** Writes an object only where there is none; false where there is one. */
  create(key: string, body: Buffer): Promise<boolean>;
  /** Writes an object only where it is still of that version; false where it is not. */
  replace(key: string, body: Buffer, version: string): Promise<boolean>;
  /** All keys that begin so. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly modifiedAt: number }>;
  /** Tried once: a second trial that comes late could meet what has been written again meanwhile. */
  remove(key: string): Promise<void>;
  close(): void;
}
