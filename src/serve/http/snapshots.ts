import { type FileHandle, open, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  isSnapshotId,
  MANIFEST,
  type Manifest,
  readManifest,
  type SnapshotFile,
} from '../../publish/snapshot/manifest.ts';
import { attachment, contentTypeOf } from './content/negotiation.ts';
import { isCurrent, notModified, sendEncoded, sendJson } from './content/send.ts';
import {
  type Handler,
  READ,
  type Route,
  SNAPSHOT_FILE_PATHS,
  SNAPSHOT_MANIFEST_PATH,
  SNAPSHOTS_PATH,
} from './paths.ts';
import { nothingThere, Refusal } from './refusal.ts';

/** Alias of the newest snapshot's id. */
const LATEST = 'latest';
/** Maximum number of cached manifests. */
const MANIFESTS_MAX = 32;
/** For content-addressed files: cacheable for 365 days, the customary maximum. */
const IMMUTABLE = 'private, max-age=31536000, immutable';
const PARQUET = 'application/vnd.apache.parquet';

/** A byte range of a file, inclusive, starting at 0. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The routes of the list of snapshots, of a manifest, and of the files listed in a manifest. */
export interface Snapshots {
  readonly routes: readonly Route[];
  /** Returns the list, newest snapshot first. */
  read(): Promise<SnapshotList>;
}

/** The published snapshots, each with its size and the path of its manifest. */
export interface SnapshotList {
  readonly latest: string | null;
  readonly snapshots: readonly ReturnType<typeof describe>[];
}

interface Known {
  readonly manifest: Manifest;
  readonly files: ReadonlyMap<string, SnapshotFile>;
}

/** Creates the routes over the snapshots folder, which may not exist yet; null serves none. */
export function createSnapshots(folder: string | null): Snapshots {
  const remembered = new Map<string, Known>();
  const known = async (id: string): Promise<Known> => {
    const found = remembered.get(id);
    if (found !== undefined) return found;
    const manifest = folder === null || !isSnapshotId(id) ? null : await readManifest(join(folder, id));
    if (manifest === null) throw nothingThere();
    const files = new Map(manifest.tables.flatMap((table) => table.files).map((file) => [file.path, file]));
    const [oldest] = remembered.size >= MANIFESTS_MAX ? remembered.keys() : [];
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(id, { manifest, files });
    return { manifest, files };
  };
  const latest = async (): Promise<string | null> => {
    if (folder === null) return null;
    return basename(await readlink(join(folder, LATEST)).catch(() => '')) || null;
  };
  // The manifest of `latest` reports the real id, so that its files can still be fetched after a newer snapshot exists.
  const idOf = async (request: FastifyRequest): Promise<string> => {
    const { id = '' } = request.params as Record<string, string>;
    return id === LATEST ? ((await latest()) ?? '') : id;
  };
  const openFile = async (id: string, path: string): Promise<FileHandle> => {
    try {
      return await open(join(folder ?? '', id, path), 'r');
    } catch {
      // The file was deleted with its snapshot.
      remembered.delete(id);
      throw nothingThere();
    }
  };
  const read = async (): Promise<SnapshotList> => {
    const ids = folder === null ? [] : (await readdir(folder).catch(() => [])).filter(isSnapshotId).sort().reverse();
    const manifests = (await Promise.all(ids.map((id) => known(id).catch(() => null)))).filter((one) => one !== null);
    return { latest: await latest(), snapshots: manifests.map(describe) };
  };
  const list: Handler = async (request, reply) => sendJson(request, reply, await read(), 'private, no-cache');
  const manifest: Handler = async (request, reply) => {
    const id = await idOf(request);
    await known(id);
    const handle = await openFile(id, MANIFEST);
    const body = await handle.readFile().finally(() => handle.close());
    const isLatest = (request.params as Record<string, string>)['id'] === LATEST;
    reply.header('content-location', `${SNAPSHOTS_PATH}/${id}/${MANIFEST}`);
    return sendEncoded(request, reply, {
      mediaType: contentTypeOf('json'),
      cacheControl: isLatest ? 'private, no-cache' : IMMUTABLE,
      length: body.length,
      tagOf: (encoding) => (encoding === 'identity' ? `"${id}"` : `"${id}-${encoding}"`),
      read: () => body,
    });
  };
  const file: Handler = async (request, reply) => {
    const id = await idOf(request);
    const { table = '', month, file: name = '' } = request.params as Record<string, string>;
    const path = [table, month, name].filter((part) => part !== undefined).join('/');
    const listed = (await known(id)).files.get(path);
    if (listed === undefined) throw nothingThere();
    const handle = await openFile(id, path);
    try {
      return await sendFile(request, reply, listed, handle);
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
  };
  const route = (path: string, handler: Handler): Route => {
    return { path, methods: READ, isOpen: false, scopes: ['snapshots'], forAllBrands: true, handler };
  };
  const files = SNAPSHOT_FILE_PATHS.map((path) => route(path, file));
  return { read, routes: [route(SNAPSHOTS_PATH, list), route(SNAPSHOT_MANIFEST_PATH, manifest), ...files] };
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { path, bytes, sha256 }: SnapshotFile,
  handle: FileHandle,
): Promise<FastifyReply> {
  const tag = `"${sha256}"`;
  const common = { etag: tag, 'cache-control': IMMUTABLE, 'accept-ranges': 'bytes' };
  if (isCurrent(request, tag)) {
    await handle.close();
    return notModified(request, reply.headers(common));
  }
  const { size } = await handle.stat();
  if (size !== bytes) throw new Error(`a snapshot file has ${size} bytes; its manifest lists ${bytes}`);
  const { range: header, 'if-range': condition } = request.headers;
  // RFC 9110: ranges apply only to GET, and only if If-Range matches the current file.
  const applies = request.method === 'GET' && (condition === undefined || condition === tag);
  const range = applies ? rangeOf(header, bytes) : null;
  if (range === 'unsatisfiable') {
    const message = `The range begins after the end of the file, which has ${bytes} bytes.`;
    throw new Refusal('range_not_satisfiable', message, { 'Content-Range': `bytes */${bytes}` });
  }
  const { start, end } = range ?? { start: 0, end: bytes - 1 };
  reply.headers({ ...common, 'content-type': PARQUET, 'content-length': String(end - start + 1) });
  reply.header('content-disposition', attachment(path.replaceAll('/', '-')));
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end}/${bytes}`);
  if (request.method === 'HEAD') {
    request.visit.bytes = 0;
    await handle.close();
    return reply.send();
  }
  request.visit.bytes = end - start + 1;
  return reply.send(handle.createReadStream({ start, end }));
}

function describe({ manifest: { id, createdAt, tables } }: Known) {
  const files = tables.flatMap((table) => table.files);
  return {
    id,
    createdAt,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.length,
    manifest: `${SNAPSHOTS_PATH}/${id}/${MANIFEST}`,
  };
}

/**
 * Returns the range that a Range header requests of a file of `bytes` (RFC 9110, 14.1). Returns null if the complete
 * file is to be sent: without a header, for another unit, an invalid range, or several ranges, which a server may
 * ignore.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '');
  if (match === null) return null;
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return null;
    const length = Math.min(Number(last), bytes);
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= bytes) return 'unsatisfiable';
  return { start, end: last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) };
}
