import { createHash } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { S3Target } from '../../base/config/publish-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import type { FileToSend, ObjectStore, StoredObject } from './object-store.ts';
import { ATTEMPTS_MAX, type Connection, loadSdk, type Sdk, settingsOf } from './s3-connection.ts';
import { failureOf, isAbsent, isChecksumRefused, isConditionRefused, isConflict, toStoreError } from './s3-errors.ts';

/** Files up to this size are uploaded in one request, larger ones in parts of this size. */
const PART_BYTES = 8 * 1024 * 1024;
/** Bytes of a large file read at a time. */
const CHUNK_BYTES = 1024 * 1024;
/** Parts of one file uploaded at the same time. */
const PARTS_AT_ONCE = 2;
const PARTS_MAX = 10_000;
/** Wait before retrying a write that conflicted with another one of the same object. */
const CONFLICT_PAUSE_MS = 100;
/** Time limit for removing the parts of an aborted upload. A lifecycle rule of the bucket removes the rest. */
const DROP_MS = 5_000;
const KEYS_A_PAGE = 1_000;
/** Maximum number of concurrent requests; each adds a listener to the signal. */
const REQUESTS_MAX = 100;
const PARQUET = 'application/vnd.apache.parquet';
const JSON_TYPE = 'application/json';
const BYTES = 'application/octet-stream';
type PutObjectCommandInput = ConstructorParameters<Sdk['PutObjectCommand']>[0];

/** Checksums to try, best first. With null, only the checksum of the signature is sent. */
const CHECKSUMS = ['SHA256', 'CRC32', null] as const;

/** Options of `openS3Store`. */
export interface S3StoreOptions {
  /** Folder below the target's prefix, such as a workspace's name. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Changed by tests only. */
  readonly partBytes?: number;
}

/**
 * Opens a folder of a bucket without sending a request.
 * @throws `config_invalid` if the packages for it are not installed
 */
export async function openS3Store(target: S3Target, options: S3StoreOptions): Promise<ObjectStore> {
  const sdk = await loadSdk();
  const signal = AbortSignal.any([options.signal]);
  setMaxListeners(REQUESTS_MAX, signal);
  const base = [...(target.prefix === '' ? [] : [target.prefix]), options.folder, ''].join('/');
  const connection: Connection = {
    sdk,
    client: new sdk.S3Client(settingsOf(target)),
    once: new sdk.S3Client({ ...settingsOf(target), maxAttempts: 1 }),
    target,
    signal,
    base,
    location: `s3://${target.bucket}/${base}`,
    partBytes: options.partBytes ?? PART_BYTES,
    learned: { checksum: 0, wantsBareTags: false },
  };
  return storeOf(connection);
}

function storeOf(connection: Connection): ObjectStore {
  const { sdk, client, once, target, signal, base, location, learned } = connection;
  const Bucket = target.bucket;
  const at = (key: string) => ({ Bucket, Key: base + key });
  const trying = async <T>(what: string, key: string, work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (thrown) {
      signal.throwIfAborted();
      throw toStoreError(thrown, `${what} ${location}${key}`);
    }
  };
  const absentAsNull = <T>(thrown: unknown): T | null => {
    if (isAbsent(thrown)) return null;
    throw thrown;
  };
  const write = (key: string, body: Buffer, condition: Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>) =>
    trying('writing', key, () =>
      writeIf(connection, { ...at(key), Body: body, ContentType: typeOf(key), ...condition }),
    );
  return {
    location,
    head: (key) =>
      trying('checking', key, () => headOf(connection, at(key)).catch((thrown) => absentAsNull<StoredObject>(thrown))),
    read: (key) =>
      trying('reading', key, async () => {
        const found = await readWhole(connection, at(key)).catch((thrown) => absentAsNull<never>(thrown));
        if (found === null) return null;
        const { answer, bytes } = found;
        if (!answer.ETag)
          throw new SightlineError('publish_failed', `${location}${key} has no ETag; conditional writes require one`);
        return { body: Buffer.from(bytes), version: answer.ETag };
      }),
    sendFile: (key, file) => trying('sending', key, () => sendFile(connection, at(key), file)),
    create: (key, body) => write(key, body, { IfNoneMatch: '*' }),
    replace: async (key, body, version) => {
      const bare = version.replaceAll('"', '');
      // Read before the write, because a concurrent write may change it.
      const { wantsBareTags } = learned;
      if (await write(key, body, { IfMatch: wantsBareTags ? bare : version })) return true;
      if (wantsBareTags || bare === version) return false;
      // HTTP quotes ETags, but some stores compare them without the quotes.
      const now = await trying('checking', key, () =>
        client.send(new sdk.HeadObjectCommand(at(key)), { abortSignal: signal }),
      );
      if (now.ETag !== version) return false;
      const isWritten = await write(key, body, { IfMatch: bare });
      learned.wantsBareTags ||= isWritten;
      return isWritten;
    },
    list: (prefix) => listAll(connection, prefix, trying),
    remove: (key) =>
      trying('deleting', key, async () => {
        await once.send(new sdk.DeleteObjectCommand(at(key)), { abortSignal: signal });
      }),
    close: () => {
      client.destroy();
      once.destroy();
    },
  };
}

function typeOf(key: string): string {
  return key.endsWith('.parquet') ? PARQUET : key.endsWith('.json') ? JSON_TYPE : BYTES;
}

// The SDK retries requests, but not a response that breaks off.
async function readWhole({ sdk, client, signal }: Connection, at: { Bucket: string; Key: string }) {
  for (let attempt = 1; ; attempt++) {
    const answer = await client.send(new sdk.GetObjectCommand(at), { abortSignal: signal });
    try {
      return { answer, bytes: (await answer.Body?.transformToByteArray()) ?? new Uint8Array() };
    } catch (thrown) {
      if (signal.aborted || attempt === ATTEMPTS_MAX) throw thrown;
      await delay(CONFLICT_PAUSE_MS * attempt, undefined, { signal });
    }
  }
}

async function headOf({ sdk, client, signal }: Connection, at: { Bucket: string; Key: string }): Promise<StoredObject> {
  const answer = await client.send(new sdk.HeadObjectCommand(at), { abortSignal: signal });
  return {
    bytes: answer.ContentLength ?? -1,
    sha256: answer.Metadata?.['sha256'] ?? null,
    modifiedAt: answer.LastModified?.getTime() ?? 0,
  };
}

async function* listAll(
  { sdk, client, signal, target, base }: Connection,
  prefix: string,
  trying: <T>(what: string, key: string, work: () => Promise<T>) => Promise<T>,
): AsyncGenerator<{ key: string; modifiedAt: number }> {
  let token: string | undefined;
  do {
    const { Contents, NextContinuationToken, IsTruncated } = await trying('listing', prefix, () => {
      const asked = { Bucket: target.bucket, Prefix: base + prefix, MaxKeys: KEYS_A_PAGE };
      const command = new sdk.ListObjectsV2Command({
        ...asked,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      });
      return client.send(command, { abortSignal: signal });
    });
    for (const { Key = '', LastModified } of Contents ?? []) {
      // An object without a time counts as new, so that it is not deleted.
      yield { key: Key.slice(base.length), modifiedAt: LastModified?.getTime() ?? Number.POSITIVE_INFINITY };
    }
    if (IsTruncated === true && (NextContinuationToken === undefined || NextContinuationToken === token)) {
      throw new SightlineError('publish_failed', `listing ${prefix} failed: the store returned no new page token`);
    }
    token = IsTruncated === true ? NextContinuationToken : undefined;
  } while (token !== undefined);
}

async function writeIf(connection: Connection, input: PutObjectCommandInput): Promise<boolean> {
  const { sdk, client, signal } = connection;
  for (let attempt = 1; ; attempt++) {
    try {
      await withChecksum(connection, (checksum) =>
        client.send(new sdk.PutObjectCommand({ ...input, ...checksum, ...encryptionOf(connection.target) }), {
          abortSignal: signal,
        }),
      );
      return true;
    } catch (thrown) {
      if (isConditionRefused(thrown)) return false;
      // The object to replace may have been deleted.
      if (input.IfMatch !== undefined && isAbsent(thrown)) return false;
      if (!isConflict(thrown) || attempt === ATTEMPTS_MAX) throw thrown;
      await delay(CONFLICT_PAUSE_MS * attempt, undefined, { signal });
    }
  }
}

async function sendFile(connection: Connection, at: { Bucket: string; Key: string }, file: FileToSend): Promise<void> {
  const { sdk, client, signal, partBytes, target } = connection;
  const { path, bytes, sha256 } = file;
  const isSmall = bytes <= partBytes;
  const body = isSmall ? await readSmall(path, bytes) : null;
  const found = body === null ? await hashFile(path) : createHash('sha256').update(body).digest('hex');
  if (found !== sha256) {
    throw new SightlineError('publish_failed', `${path} is damaged: its SHA-256 differs from the expected one`);
  }
  const about = { ...at, ContentType: typeOf(at.Key), Metadata: { sha256 }, ...encryptionOf(target) };
  await withChecksum(connection, async (checksum) => {
    if (body !== null) {
      await client.send(new sdk.PutObjectCommand({ ...about, ...checksum, Body: body }), { abortSignal: signal });
      return;
    }
    await sendParts(connection, at, { ...about, ...checksum }, file);
  });
}

async function sendParts(
  connection: Connection,
  at: { Bucket: string; Key: string },
  about: Omit<PutObjectCommandInput, 'Body'>,
  { path, bytes, sha256 }: FileToSend,
): Promise<void> {
  const { sdk, client, signal, partBytes } = connection;
  const abort = new AbortController();
  const onAbort = (): void => abort.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  const partSize = Math.max(partBytes, Math.ceil(bytes / PARTS_MAX));
  const stream = createReadStream(path, { end: bytes - 1, highWaterMark: CHUNK_BYTES });
  const params = { ...about, Body: stream, ContentLength: bytes };
  const upload = new sdk.Upload({ client, params, partSize, queueSize: PARTS_AT_ONCE, abortController: abort });
  try {
    await upload.done();
  } catch (thrown) {
    if (signal.aborted && upload.uploadId !== undefined) await dropParts(connection, at, upload.uploadId);
    // If the response to the completion was lost, the retry no longer finds the upload.
    const isEnded = failureOf(thrown).name === 'NoSuchUpload';
    const there = isEnded ? await headOf(connection, at).catch(() => null) : null;
    if (there?.bytes !== bytes || there.sha256 !== sha256) throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
    stream.destroy();
    // A read may still be in progress.
    if (!stream.closed) await once(stream, 'close');
  }
}

// One byte more than expected, so that a file that has grown has another SHA-256.
async function readSmall(path: string, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes + 1);
  const file = await open(path);
  try {
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

// The SDK removes the parts of a failed upload. After an abort it does so only when the active requests have ended, and
// nobody waits for that.
async function dropParts({ sdk, once }: Connection, at: { Bucket: string; Key: string }, id: string): Promise<void> {
  const command = new sdk.AbortMultipartUploadCommand({ ...at, UploadId: id });
  await once.send(command, { abortSignal: AbortSignal.timeout(DROP_MS) }).catch(() => undefined);
}

// Whether a store accepts a checksum is known only from its response.
async function withChecksum<T>(
  { learned }: Connection,
  send: (checksum: { ChecksumAlgorithm?: 'SHA256' | 'CRC32' }) => Promise<T>,
): Promise<T> {
  for (let tried = learned.checksum; ; tried++) {
    const algorithm = CHECKSUMS[tried] ?? null;
    try {
      const answer = await send(algorithm === null ? {} : { ChecksumAlgorithm: algorithm });
      learned.checksum = tried;
      return answer;
    } catch (thrown) {
      if (!isChecksumRefused(thrown) || tried >= CHECKSUMS.length - 1) throw thrown;
    }
  }
}

function encryptionOf({ encryption, kmsKeyId }: S3Target): Partial<PutObjectCommandInput> {
  if (encryption === null) return {};
  return { ServerSideEncryption: encryption, ...(kmsKeyId === null ? {} : { SSEKMSKeyId: kmsKeyId }) };
}
