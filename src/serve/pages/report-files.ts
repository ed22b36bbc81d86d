import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { escaped } from '../../web/plain/escaped.ts';
import { PAGE_RULES } from '../../web/plain/page-rules.ts';
import { entityTag } from '../http/content/etag.ts';
import { sendBytes, sendEncoded, sendValue } from '../http/content/send.ts';
import { DATA_PATHS, pageRoute, REPORT_FILE_PATHS, REPORT_LIST_PATHS, REPORTS_PATH } from '../http/page-paths.ts';
import { basePathOf, type Handler, type Route } from '../http/paths.ts';
import { nothingThere } from '../http/refusal.ts';

/** Maximum number of reports in the list; further ones are left out. */
const REPORTS_MAX = 1_000;
/** Larger files are not served. A report has less than 1 MB. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Names that `sightline report` gives to its files and folders. No other names are served. */
const FOLDER_NAME = /^[a-z0-9][a-z0-9-]{0,120}$/;
const FILE_NAME = /^[a-z0-9][a-z0-9_-]{0,120}\.(html|svg|png)$/;
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
  /** Null if the name does not contain the id of a brand. */
  readonly brandId: string | null;
  readonly writtenAt: string;
  readonly bytes: number;
  readonly page: string;
  readonly charts: readonly string[];
}

/**
 * Creates the routes of the list of reports, as a page and as data, and of their files, over the folder that `sightline report` writes to,
 * which may not exist yet. Reports show all brands.
 */
export function createReportRoutes(folder: string): Route[] {
  const read = async (): Promise<ReportLine[]> => {
    const names = (await readdir(folder).catch(() => [])).filter((name) => FILE_NAME.test(name) && isPage(name));
    const lines = await Promise.all(
      names
        .sort()
        .slice(0, REPORTS_MAX)
        .map((name) => describe(folder, name)),
    );
    return lines.filter((line) => line !== null);
  };
  const list: Handler = async (request, reply) => {
    const body = Buffer.from(listPage(await read(), basePathOf(request)));
    allowStyles(request);
    reply.headers({ 'content-type': MEDIA_TYPES['html'], 'cache-control': 'no-store' });
    return sendBytes(request, reply, body);
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
  const data: Handler = async (request, reply) => sendValue(request, reply, { reports: await read() });
  const route = (path: string, handler: Handler): Route =>
    pageRoute(path, handler, { forAllBrands: true, scopes: ['snapshots'] });
  return [
    pageRoute(DATA_PATHS.reports, data, { forAllBrands: true }),
    ...REPORT_LIST_PATHS.map((path) => route(path, list)),
    ...REPORT_FILE_PATHS.map((path) => route(path, file)),
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

function listPage(reports: readonly ReportLine[], base: string): string {
  const items = reports.map(
    ({ name, page, writtenAt }) =>
      `<li><a href="${base}${escaped(page)}">${escaped(name)}</a> <time datetime="${writtenAt}">${writtenAt.slice(0, 10)}</time></li>`,
  );
  const none = '<p>No reports yet. <code>sightline report</code> writes one for each brand.</p>';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reports</title><style>${PAGE_RULES} body { margin: 2rem auto; max-width: 50rem; padding: 0 1rem; }</style></head>
<body><h1>Reports</h1>${items.length === 0 ? none : `<ul>${items.join('\n')}</ul>`}</body></html>
`;
}

function isPage(name: string): boolean {
  return endingOf(name) === 'html';
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
