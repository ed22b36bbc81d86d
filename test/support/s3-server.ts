import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fault of a request: before it is read, after its body was read, after it was performed, or during the response. */
export type Fault =
  | 'busy'
  | 'cut before'
  | 'cut after body'
  | 'cut after'
  | 'precondition'
  | 'forbidden'
  | 'wrong tag'
  | 'half';

/** A received request. */
export interface Asked {
  readonly method: string;
  readonly key: string;
  /** Query parameters, such as `uploads`. */
  readonly query: URLSearchParams;
}

/** Deviations from S3. */
export interface S3ServerOptions {
  /** Compares If-Match with the ETag without its quotes, like Ceph. */
  readonly wantsBareTags?: boolean;
  readonly ignoresConditions?: boolean;
  /** Rejects checksum headers, like older stores. */
  readonly refusesChecksums?: boolean;
}

interface Stored {
  readonly body: Buffer;
  readonly etag: string;
  readonly modified: Date;
  readonly headers: Readonly<Record<string, string>>;
}

/** An in-memory server on loopback with the part of S3 that publishing needs. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly objects: Map<string, Stored>;
  /** All received requests, in order. Tests may empty it. */
  readonly asked: Asked[];
  /** Multipart uploads in progress. */
  readonly uploads: ReadonlyMap<string, unknown>;
  /** The server's time in epoch milliseconds. */
  now: () => number;
  /** Selects the fault of a request; none by default. */
  fault: (asked: Asked) => Fault | null;
  close(): Promise<void>;
}

/** Credentials for requests. The server checks the signed hash of the body, but not the signature itself. */
export const S3_KEY = { AWS_ACCESS_KEY_ID: 'AKTESTED', AWS_SECRET_ACCESS_KEY: 'a-secret-that-nobody-sees' } as const;

/** Starts the server on a free port. */
export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const parts = new Map<string, Uploading>();
  const bucket = 'lake';
  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Node would send the time of the machine, which differs from that of a shifted `Date`.
    response.setHeader('date', new Date(s3.now()).toUTCString());
    const url = new URL(request.url ?? '/', 'http://localhost');
    const key = decodeURIComponent(url.pathname).replace(`/${bucket}`, '').replace(/^\//, '');
    const asked: Asked = { method: request.method ?? 'GET', key, query: url.searchParams };
    s3.asked.push(asked);
    const fault = s3.fault(asked);
    if (fault === 'cut before') return cut(request);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (fault === 'cut after body') return cut(request);
    const send = fault === 'cut after' ? () => cut(request) : reply(response, asked.method);
    if (fault === 'busy') return send(503, 'SlowDown');
    if (fault === 'precondition') return send(412, 'PreconditionFailed');
    const isSigned = request.headers.authorization?.includes(`Credential=${S3_KEY.AWS_ACCESS_KEY_ID}/`) === true;
    if (fault === 'forbidden' || !isSigned) return send(403, 'AccessDenied');
    if (!url.pathname.startsWith(`/${bucket}`)) return send(404, 'NoSuchBucket');
    const wrong = rejectionOf(request, body, options);
    if (wrong !== null) return send(...wrong);
    if (asked.query.has('uploads') || asked.query.has('uploadId'))
      return multipart(s3, parts, request, asked, body, send);
    if (asked.method === 'PUT') return put(s3, request, key, body, options, send);
    if (asked.method === 'DELETE') {
      s3.objects.delete(key);
      return send(204);
    }
    if (key === '') return send(200, null, {}, list(s3, asked.query));
    const found = s3.objects.get(key);
    if (found === undefined) return send(404, 'NoSuchKey');
    const etag = fault === 'wrong tag' ? '"ffffffffffffffffffffffffffffffff"' : found.etag;
    const about = { ...found.headers, etag, 'last-modified': found.modified.toUTCString() };
    const from = Number(/^bytes=(\d+)-$/.exec(String(request.headers.range ?? ''))?.[1] ?? 0);
    const part = found.body.subarray(from);
    if (fault === 'half') return half(response, about, part);
    return send(from === 0 ? 200 : 206, null, about, part);
  };
  const s3: S3Server = {
    endpoint: '',
    bucket,
    objects: new Map(),
    asked: [],
    uploads: parts,
    now: () => Date.now(),
    fault: () => null,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(s3, { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

type Send = (status: number, code?: string | null, headers?: Record<string, string>, body?: Buffer | string) => void;

function cut(request: IncomingMessage): void {
  request.socket.destroy();
}

function half(response: ServerResponse, headers: Record<string, string>, body: Buffer): void {
  response.writeHead(200, { 'content-length': String(body.length), ...headers });
  response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.destroy());
}

function reply(response: ServerResponse, method: string): Send {
  return (status, code = null, headers = {}, body = '') => {
    const xml = code === null ? body : `<Error><Code>${code}</Code><Message>said by the server</Message></Error>`;
    response.writeHead(status, { 'content-length': String(Buffer.byteLength(xml)), ...headers });
    response.end(method === 'HEAD' ? undefined : xml);
  };
}

// Rejects a body that does not match its signed hash or its checksum.
function rejectionOf({ headers }: IncomingMessage, body: Buffer, options: S3ServerOptions): [number, string] | null {
  const signed = headers['x-amz-content-sha256'];
  if (/^[0-9a-f]{64}$/.test(String(signed)) && signed !== createHash('sha256').update(body).digest('hex')) {
    return [400, 'XAmzContentSHA256Mismatch'];
  }
  const hasChecksum = Object.keys(headers).some((name) => /^x-amz-(sdk-)?checksum-/.test(name));
  if (options.refusesChecksums === true && hasChecksum) return [501, 'NotImplemented'];
  const checksum = headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== createHash('sha256').update(body).digest('base64'))
    return [400, 'BadDigest'];
  return String(headers['content-encoding']).includes('aws-chunked') ? [501, 'NotImplemented'] : null;
}

// Checks the condition and writes without awaiting in between, so the operation is atomic.
function put(
  s3: S3Server,
  { headers }: IncomingMessage,
  key: string,
  body: Buffer,
  options: S3ServerOptions,
  send: Send,
) {
  const found = s3.objects.get(key);
  if (options.ignoresConditions !== true) {
    const tag = options.wantsBareTags === true ? found?.etag.replaceAll('"', '') : found?.etag;
    if (headers['if-none-match'] === '*' && found !== undefined) return send(412, 'PreconditionFailed');
    if (headers['if-match'] !== undefined && found === undefined) return send(404, 'NoSuchKey');
    if (headers['if-match'] !== undefined && headers['if-match'] !== tag) return send(412, 'PreconditionFailed');
  }
  const { etag } = store(s3, key, body, headers);
  send(200, null, { etag });
}

function store(s3: S3Server, key: string, body: Buffer, headers: IncomingMessage['headers']): Stored {
  const kept = Object.entries(headers).filter(([name]) => /^(x-amz-meta-|x-amz-server-side|content-type$)/.test(name));
  const etag = `"${createHash('md5').update(body).digest('hex')}"`;
  const stored = {
    body,
    etag,
    modified: new Date(s3.now()),
    headers: Object.fromEntries(kept) as Record<string, string>,
  };
  s3.objects.set(key, stored);
  return stored;
}

interface Uploading {
  readonly headers: IncomingMessage['headers'];
  readonly pieces: Map<number, Buffer>;
}

function multipart(
  s3: S3Server,
  parts: Map<string, Uploading>,
  request: IncomingMessage,
  { method, key, query }: Asked,
  body: Buffer,
  send: Send,
) {
  if (query.has('uploads')) {
    const id = `upload-${randomUUID()}`;
    parts.set(id, { headers: request.headers, pieces: new Map() });
    return send(200, null, {}, xml('InitiateMultipartUploadResult', `<Key>${key}</Key><UploadId>${id}</UploadId>`));
  }
  const id = query.get('uploadId') ?? '';
  const upload = parts.get(id);
  if (upload === undefined) return send(404, 'NoSuchUpload');
  if (method === 'PUT') {
    upload.pieces.set(Number(query.get('partNumber')), body);
    return send(200, null, { etag: `"${createHash('md5').update(body).digest('hex')}"` });
  }
  parts.delete(id);
  if (method === 'DELETE') return send(204);
  const whole = Buffer.concat([...upload.pieces].sort(([a], [b]) => a - b).map(([, part]) => part));
  const { etag } = store(s3, key, whole, upload.headers);
  send(200, null, {}, xml('CompleteMultipartUploadResult', `<Key>${key}</Key><ETag>${etag}</ETag>`));
}

function list({ objects }: S3Server, query: URLSearchParams): string {
  const most = Math.min(Number(query.get('max-keys') ?? 1000), 7);
  const after = query.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after).sort();
  const page = keys.slice(0, most);
  const contents = page.map((key) => {
    const { modified, body } = objects.get(key) as Stored;
    return `<Contents><Key>${key}</Key><LastModified>${modified.toISOString()}</LastModified><Size>${body.length}</Size></Contents>`;
  });
  const more = keys.length > most ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  return xml('ListBucketResult', `<IsTruncated>${keys.length > most}</IsTruncated>${more}${contents.join('')}`);
}

function xml(name: string, content: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${name}>`;
}
