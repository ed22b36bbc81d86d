import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { installLine, OPTIONAL_PACKAGES } from '../../src/base/optional-packages.ts';
import { temporaryFolder } from '../support/folders.ts';

// An installation with these packages in its node_modules, each with a version.
async function installed(root: string, packages: Readonly<Record<string, string>> = {}): Promise<string> {
  await mkdir(root, { recursive: true });
  const { peerDependencies, devDependencies } = manifest;
  await writeFile(join(root, 'package.json'), JSON.stringify({ name: 'sightline', peerDependencies, devDependencies }));
  for (const [name, version] of Object.entries(packages)) {
    await mkdir(join(root, 'node_modules', name), { recursive: true });
    await writeFile(join(root, 'node_modules', name, 'package.json'), JSON.stringify({ name, version }));
  }
  return root;
}

describe('the line that installs optional packages', () => {
  test('in a project adds a dependency', async () => {
    const project = await temporaryFolder();
    await writeFile(join(project, 'package.json'), '{}');
    const root = await installed(join(project, 'node_modules/@sightline-mirror/sightline'));
    expect(installLine('queue', root)).toBe('npm install pg-boss@12');
  });

  test('for a global installation names its prefix, because packages of another prefix are not found', async () => {
    const prefix = await temporaryFolder();
    const unix = await installed(join(prefix, 'lib/node_modules/@sightline-mirror/sightline'));
    const windows = await installed(join(prefix, 'node_modules/@sightline-mirror/sightline'));
    for (const root of [unix, windows]) {
      expect(installLine('png', root)).toBe(`npm install --global --prefix ${prefix} @resvg/resvg-js@2.6`);
    }
  });

  test('in a clone repeats installed optional packages, because npm would remove them', async () => {
    const clone = await installed(await temporaryFolder(), { pg: '8.23.1', 'rate-limiter-flexible': '11.4.0' });
    await writeFile(join(clone, 'package-lock.json'), '{}');
    const line = 'npm install --no-save --save-prod --omit=dev';
    expect(installLine('png', clone)).toBe(`${line} @resvg/resvg-js@2.6 pg@8.23.1 rate-limiter-flexible@11.4.0`);
    expect(installLine('budget', clone)).toBe(`${line} pg@8 rate-limiter-flexible@11`);
  });

  test('in a clone with development packages does not repeat them, because npm keeps them', async () => {
    const clone = await installed(await temporaryFolder(), {
      typescript: '7.0.2',
      pg: '8.23.1',
      '@resvg/resvg-js': '2.6.2',
    });
    await writeFile(join(clone, 'package-lock.json'), '{}');
    const line = 'npm install --no-save --save-prod';
    expect(installLine('bucket', clone)).toBe(`${line} ${OPTIONAL_PACKAGES.bucket.join(' ')}`);
    expect(installLine('png', clone)).toBe(`${line} @resvg/resvg-js@2.6`);
  });

  test('in an image builds the image again, with the packages that it has', async () => {
    const image = await installed(await temporaryFolder(), { pg: '8.23.1' });
    expect(installLine('png', image)).toBe(
      'docker build --file docs/deploy/Dockerfile --build-arg EXTRAS="@resvg/resvg-js@2.6 pg@8.23.1" --tag sightline .',
    );
  });

  test('has every optional peer dependency, in a version that it allows', () => {
    const packages = [...new Set(Object.values(OPTIONAL_PACKAGES).flat())];
    const at = (wanted: string): number => wanted.lastIndexOf('@');
    expect(packages.map((wanted) => wanted.slice(0, at(wanted))).sort()).toEqual(
      Object.keys(manifest.peerDependenciesMeta).sort(),
    );
    for (const wanted of packages) {
      const range = manifest.peerDependencies[wanted.slice(0, at(wanted)) as keyof typeof manifest.peerDependencies];
      expect(range.startsWith(`^${wanted.slice(at(wanted) + 1)}.`), wanted).toBe(true);
    }
  });
});
