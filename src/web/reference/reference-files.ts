import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type ErrorCode, errorTable } from '../../base/errors.ts';
import type { Asset } from '../plain/asset.ts';

/** The renderer: a custom element in one file, without imports. The build copies it to the folder `page`. */
const RENDERER = 'openapi-explorer/dist/browser/openapi-explorer.min.js';

/** Content security policy of the reference: only this server's files. The renderer sets style attributes. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every file of the reference. */
export const REFERENCE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Reads the files of the reference; the names are paths below it, and empty for the page itself. */
export function readReferenceFiles(): readonly Asset[] {
  const folder = new URL('./page/', import.meta.url);
  const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
  return [
    fileOf('', 'text/html', read('index.html')),
    fileOf('errors', 'text/html', errorsPage()),
    fileOf('page.css', 'text/css', read('page.css')),
    fileOf('page.js', 'text/javascript', read('page.js')),
    fileOf('renderer.js', 'text/javascript', readFileSync(rendererIn(folder), 'utf8')),
  ];
}

// Sources that were not built use the installed package.
function rendererIn(folder: URL): URL | string {
  const built = new URL('renderer.js', folder);
  return existsSync(built) ? built : createRequire(import.meta.url).resolve(RENDERER);
}

function fileOf(name: string, mediaType: string, text: string): Asset {
  const bytes = Buffer.from(text);
  const version = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  return { name, mediaType: `${mediaType}; charset=utf-8`, bytes, version };
}

// The list of the errors that the server returns; the id of each is its code.
function errorsPage(): string {
  const rows = (Object.keys(errorTable) as ErrorCode[]).flatMap((code) => {
    const kind = errorTable[code];
    if (!('status' in kind)) return [];
    const texts = [kind.about, kind.hint].map((text) => `<td>${withCode(escaped(text))}</td>`);
    return [`<tr id="${code}"><td>${kind.status}</td><th scope="row"><code>${code}</code></th>${texts.join('')}</tr>`];
  });
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>sightline: errors</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="page.css">
  </head>
  <body class="text">
    <h1>Errors</h1>
    <p>Every error has the body <code>{"error": {"code", "message", "requestId", "docUrl"}}</code>. <code>parameter</code> and
      <code>allowed</code> are added if a parameter is wrong or the allowed values are known. <code>requestId</code> is the id of
      the request in the log of the server. See also <a href="../docs">the reference of the API</a>.</p>
    <table>
      <thead><tr><th scope="col">status</th><th scope="col">code</th><th scope="col">cause</th><th scope="col">next step</th></tr></thead>
      <tbody>
        ${rows.join('\n        ')}
      </tbody>
    </table>
  </body>
</html>
`;
}

function withCode(html: string): string {
  return html.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

// Without control characters, which HTML cannot have.
function escaped(text: string): string {
  return text
    .replaceAll(/\p{Cc}|\p{Cs}|[\uFFFE\uFFFF]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
