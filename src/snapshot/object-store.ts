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
}

/** A file that is to be sent. */
export interface FileToSend {
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/**
 * A folder of an object store; keys are relative to it. Everything throws `publish_failed` with what was tried and why it
 * failed, after the attempts are used up, and the signal's reason when that is aborted.
 */
export interface ObjectStore {
  /** Address of the folder, with a slash at its end. */
  readonly location: string;
  head(key: string): Promise<StoredObject | null>;
  /** Null where there is none. */
  read(key: string): Promise<ReadObject | null>;
  /** Sends a file whole or not at all, checked against its SHA-256 before and by the store's own checksum on the way. */
  sendFile(key: string, file: FileToSend): Promise<void>;
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
