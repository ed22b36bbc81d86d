import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

/** Maximum size of the compressed JavaScript that a page loads. */
const FIRST_PAGE_BYTES_MAX = 60_000;

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
}

const folder = join(import.meta.dirname, '../../../dist/src/web/app');
const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Readonly<Record<string, Chunk>>;

function filesOf(names: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const add = (name: string): void => {
    const { file = '', imports = [] } = manifest[name] ?? {};
    if (seen.has(file)) return;
    seen.add(file);
    imports.forEach(add);
  };
  names.forEach(add);
  return [...seen];
}

test('the JavaScript of the first page is at most 60 kB compressed', () => {
  const files = filesOf(['index.html', 'pages/overview/overview.tsx']);
  expect(files.length).toBeGreaterThan(1);
  const sizes = files.map((file) => gzipSync(readFileSync(join(folder, file)), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
});

test('no file of the pages has inline code, a data URL or an address of another server', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|(?:src|href)="(?!\/assets\/)/);
});
