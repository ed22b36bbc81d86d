import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Service } from '../../read/service.ts';
import { type Access, checkRights } from '../auth/access.ts';
import { checkBrand } from '../data/mark-handlers.ts';
import { entityTag } from '../http/content/etag.ts';
import { sendEncoded, sendJson, sendValue } from '../http/content/send.ts';
import { typedJsonOf } from '../http/json-body.ts';
import { DATA_PATHS, pageRoute, REPORT_FILE_PATHS, REPORTS_PATH } from '../http/page-paths.ts';
import { basePathOf, type Handler, READ, type Route, WRITING } from '../http/paths.ts';
import { nothingThere } from '../http/refusal.ts';

/** Maximum number of reports in the list; further ones are left out. */
const REPORTS_MAX = 1_000;
/** Larger files are not served. A report has less than 1 MB. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Names that `sightline report` gives to its files and folders. No other names are served. */
const FOLDER_NAME = /^[a-z0-9][a-z0-9-]{0,120}$/;
const FILE_NAME = /^[a-z0-9][a-z0-9_-]{0,120}\.(html|svg|png)$/;
/** Bytes at the beginning of a report that contain its description, and the escapes in it. */
const HEAD_BYTES = 4_096;
const ESCAPES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
const BRAND_ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
  png: 'image/png',
};

/** Reports are single files with their own styles and pictures, and without scripts. */
const REPORT_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A written report of a brand; paths are relative to the server. */
export interface ReportLine {
  readonly name: string;
  /** The headline of its brief; empty without one. */
  readonly sentence: string;
  /** Null if the name does not contain the id of a brand. */
  readonly brandId: string | null;
  readonly writtenAt: string;
  readonly bytes: number;
  readonly page: string;
  readonly charts: readonly string[];
}

/** Writes the report of a brand, with links to the pages at an address. */
export type WriteReport = (brandId: string, address: string | null) => Promise<void>;

/**
 * Creates the routes of the list of reports, which POST extends by a report of a brand, and of their files, over the folder that
 * `sightline report` writes to, which may not exist yet. Reports show all brands.
 */
export function createReportRoutes(folder: string, service: Service, write: WriteReport | undefined): Route[] {
  const read = async (): Promise<ReportLine[]> => {
    const names = (await readdir(folder).catch(() => [])).filter((name) => FILE_NAME.test(name) && isPage(name));
    const lines = await Promise.all(
      names
        .sort()
        .slice(0, REPORTS_MAX)
        .map((name) => describe(folder, name)),
    );
    // A brand that was renamed has several; the newest comes first.
    return lines.filter((line) => line !== null).sort((a, b) => (a.writtenAt < b.writtenAt ? 1 : -1));
  };
  const file: Handler = async (request, reply) => {
    const { folder: within, file: name = '' } = request.params as Record<string, string>;
    const handle = await openFile(folder, within ?? null, name);
    try {
      return await sendFile(request, reply, name, handle);
    } finally {
      await handle.close();
    }
  };
  // One at a time, because drawing takes a second of the processor.
  let last: Promise<void> = Promise.resolve();
  const make = async (request: FastifyRequest, writeOne: WriteReport): Promise<void> => {
    checkRights(WRITING, request.visit.access as Access);
    const { brandId } = typedJsonOf(request) ?? {};
    checkBrand((await service.newest()).brands, brandId);
    const { origin = '' } = request.headers;
    const written = last.then(() => writeOne(brandId, origin === '' ? null : `${origin}${basePathOf(request)}`));
    last = written.catch(() => undefined);
    return written;
  };
  const data: Handler = async (request, reply) => {
    if (request.method !== 'POST' || write === undefined) return sendValue(request, reply, { reports: await read() });
    await make(request, write);
    return sendJson(request, reply, { reports: await read() });
  };
  return [
    pageRoute(DATA_PATHS.reports, data, {
      forAllBrands: true,
      methods: write === undefined ? READ : [...READ, 'POST'],
    }),
    ...REPORT_FILE_PATHS.map((path) => pageRoute(path, file, { forAllBrands: true })),
  ];
}

// Follows no symbolic link below the folder, so that no other file can be read.
async function openFile(folder: string, within: string | null, file: string): Promise<FileHandle> {
  if (!FILE_NAME.test(file) || (within !== null && !FOLDER_NAME.test(within))) throw nothingThere();
  try {
    const from = within === null ? folder : join(folder, within);
    if (within !== null && !(await lstat(from)).isDirectory()) throw nothingThere();
    return await open(join(from, file), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    throw nothingThere();
  }
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  handle: FileHandle,
): Promise<FastifyReply> {
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile() || stats.size > FILE_BYTES_MAX) throw nothingThere();
  const mediaType = MEDIA_TYPES[endingOf(name)] as string;
  allowStyles(request);
  return sendEncoded(request, reply, {
    mediaType,
    cacheControl: 'private, no-cache',
    length: mediaType.includes('charset') ? Number(stats.size) : 0,
    tagOf: (encoding) => entityTag(`${stats.ino}-${stats.mtimeNs}-${stats.size}`, 'report', encoding),
    read: () => handle.readFile(),
  });
}

// Replaces the policy of the other pages.
function allowStyles({ visit }: FastifyRequest): void {
  visit.headers['content-security-policy'] = REPORT_POLICY;
}

async function describe(folder: string, file: string): Promise<ReportLine | null> {
  const name = file.slice(0, file.lastIndexOf('.'));
  const stats = await lstat(join(folder, file)).catch(() => null);
  if (stats?.isFile() !== true) return null;
  const charts = FOLDER_NAME.test(name) ? await readdir(join(folder, name)).catch(() => []) : [];
  return {
    name,
    sentence: await sentenceIn(folder, file),
    brandId: BRAND_ID.exec(name)?.[0] ?? null,
    writtenAt: stats.mtime.toISOString(),
    bytes: stats.size,
    page: `${REPORTS_PATH}/${file}`,
    charts: charts
      .filter((chart) => FILE_NAME.test(chart) && !isPage(chart))
      .sort()
      .map((chart) => `${REPORTS_PATH}/${name}/${chart}`),
  };
}

// The description in the head of a report, without the escapes of HTML.
async function sentenceIn(folder: string, file: string): Promise<string> {
  const handle = await openFile(folder, null, file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const [, sentence = ''] =
      /<meta name="description" content="([^"]*)"/.exec(buffer.toString('utf8', 0, bytesRead)) ?? [];
    return sentence.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => ESCAPES[name] ?? '');
  } finally {
    await handle.close();
  }
}

function isPage(name: string): boolean {
  return endingOf(name) === 'html';
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
