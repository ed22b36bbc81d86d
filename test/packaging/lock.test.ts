import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
}

const root = join(import.meta.dirname, '../..');
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const packages: [string, LockedPackage][] = Object.entries(read('package-lock.json').packages).filter(
  ([path]) => path !== '',
) as [string, LockedPackage][];
const pathsOf = (isFault: (one: LockedPackage) => boolean): string[] =>
  packages.filter(([, one]) => isFault(one)).map(([path]) => path);

test('the lock has a hash of every package, also of those for other platforms', () => {
  expect(packages.length).toBeGreaterThan(100);
  expect(pathsOf(({ integrity = '' }) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
});

test('the lock names no registry, so that npm uses the configured one', () => {
  expect(pathsOf(({ resolved }) => resolved !== undefined)).toEqual([]);
});

test('no package runs a script when it is installed', () => {
  expect(pathsOf(({ hasInstallScript }) => hasInstallScript === true)).toEqual([]);
});
