import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { themeRules } from '../../report/theme.ts';

/** What may be shown and run on the page: its own files, and nothing from anywhere else. */
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

/** What is said beside everything that belongs to the status page. */
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

/** A file of the page. */
export interface Asset {
  /** Where it is served, below the page's folder; empty for the page itself. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** Hex digits, different for different bytes. */
  readonly version: string;
}

/** Reads the files of the page, which stand beside this one; the styles begin with the colours that charts have. */
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
