import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { themeRules } from '../report/theme.ts';

/** Content security policy of the page: only its own files. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every response of the status page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
};

const SHELL = 'index.html';
const STYLES = 'page.css';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};

/** A file of the status page. */
export interface Asset {
  /** Path below the page's folder; empty for the page itself. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** Hash of the bytes, in hex. */
  readonly version: string;
}

/** Reads the files of the page from the folder `page`. The style sheet begins with the colours of the charts. */
export function readAssets(): readonly Asset[] {
  const folder = new URL('./page/', import.meta.url);
  return readdirSync(folder)
    .filter((file) => MEDIA_TYPES[endingOf(file)] !== undefined)
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, folder), 'utf8');
      const bytes = Buffer.from(file === STYLES ? `${themeRules()}\n${text}` : text);
      const version = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
      return { name: file === SHELL ? '' : file, mediaType: MEDIA_TYPES[endingOf(file)] as string, bytes, version };
    });
}

function endingOf(file: string): string {
  return file.slice(file.lastIndexOf('.') + 1);
}
