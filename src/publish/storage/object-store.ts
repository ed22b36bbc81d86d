/** Properties of an object that are known without reading its content. */
export interface StoredObject {
  readonly bytes: number;
  /** Hexadecimal, as declared by the upload; null if it was not declared. */
  readonly sha256: string | null;
  /** By the store's clock, epoch milliseconds. */
  readonly modifiedAt: number;
}

/** A small object with its content. */
export interface ReadObject {
  readonly body: Buffer;
  /** Changes with every write; `replace` requires it. */
  readonly version: string;
}

/** A local file to upload. */
export interface FileToSend {
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/**
 * A folder of an object store; keys are relative to it. After all attempts have failed, methods throw `publish_failed` with the operation
 * and the reason. After an abort they throw the signal's reason.
 */
export interface ObjectStore {
  /** Address of the folder, with a trailing slash. */
  readonly location: string;
  head(key: string): Promise<StoredObject | null>;
  /** Reads an object; null if it does not exist. */
  read(key: string): Promise<ReadObject | null>;
  /**
   * Uploads a file completely or not at all. Verifies its SHA-256 before, and the store's own checksum during the
   * transfer.
   */
  sendFile(key: string, file: FileToSend): Promise<void>;
  /** Writes an object if it does not exist; returns false if it does. */
  create(key: string, body: Buffer): Promise<boolean>;
  /**
   * Writes an object if it still has this version; returns false if it does not.
   * @example
   * const found = await store.read(key);
   * if (found !== null && !(await store.replace(key, next(found.body), found.version))) retry();
   */
  replace(key: string, body: Buffer, version: string): Promise<boolean>;
  /** Lists the keys with this prefix. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly modifiedAt: number }>;
  /** Deletes an object. Not retried, because a late retry could delete an object that was written again meanwhile. */
  remove(key: string): Promise<void>;
  close(): void;
}
