import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { VERSION } from '../../src/base/version.ts';

it('VERSION equals the version in package.json', () => {
  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ version: VERSION });
});
