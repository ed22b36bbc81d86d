import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Packages that only some settings need, with the versions to install. */
export const OPTIONAL_PACKAGES = {
  budget: ['pg@8', 'rate-limiter-flexible@11'],
  queue: ['pg-boss@12'],
  bucket: ['@aws-sdk/client-s3@3.1169', '@aws-sdk/lib-storage@3.1169'],
  png: ['@resvg/resvg-js@2.6'],
} as const satisfies Record<string, readonly string[]>;

/** Where sightline is installed: the folder with its package.json. */
const ROOT = folderWith('package.json', dirname(fileURLToPath(import.meta.url)));

/**
 * The command that installs optional packages so that this installation finds them.
 *
 * - Project (`npm install` of the tarball): beside sightline, as a dependency.
 * - Global: beside sightline in the same prefix.
 * - Clone: npm ignores optional peers of the root unless `--no-save --save-prod` is given, and removes packages that an earlier
 *   such command installed, so they are repeated. Without `--omit=dev` npm would add the development packages.
 * - Image: its folder has no lock file. Packages are chosen when the image is built.
 *
 * @example installLine('png') // npm install --no-save --save-prod @resvg/resvg-js@2.6
 */
export function installLine(use: keyof typeof OPTIONAL_PACKAGES, root: string = ROOT): string {
  const packages: readonly string[] = OPTIONAL_PACKAGES[use];
  // The package has a scope: node_modules/@sightline-mirror/sightline.
  const parent = dirname(dirname(root));
  if (basename(parent) === 'node_modules') {
    if (existsSync(join(dirname(parent), 'package.json'))) return `npm install ${packages.join(' ')}`;
    return `npm install --global --prefix ${prefixOf(parent)} ${packages.join(' ')}`;
  }
  const present = installedIn(root);
  const more = present.filter((one) => !packages.some((wanted) => nameOf(wanted) === nameOf(one)));
  const all = [...packages, ...more].join(' ');
  if (!existsSync(join(root, 'package-lock.json'))) {
    return `docker build --file docs/deploy/Dockerfile --build-arg EXTRAS="${all}" --tag sightline .`;
  }
  return `npm install --no-save --save-prod ${hasDevelopmentPackages(root) ? '' : '--omit=dev '}${all}`;
}

function folderWith(file: string, folder: string): string {
  return existsSync(join(folder, file)) || dirname(folder) === folder ? folder : folderWith(file, dirname(folder));
}

// npm's global packages are in PREFIX/lib/node_modules, on Windows in PREFIX/node_modules. Quoted if a shell would split it.
function prefixOf(modules: string): string {
  const above = dirname(modules);
  const prefix = basename(above) === 'lib' ? dirname(above) : above;
  return /^[\w/.:@\\-]+$/.test(prefix) ? prefix : JSON.stringify(prefix);
}

// The installed optional packages that npm would remove, with their versions.
function installedIn(root: string): string[] {
  const { peerDependencies = {}, devDependencies = {} } = readJson(join(root, 'package.json'));
  const kept = hasDevelopmentPackages(root) ? devDependencies : {};
  return Object.keys(peerDependencies).flatMap((name) => {
    const { version } = readJson(join(root, 'node_modules', name, 'package.json'));
    return version === undefined || Object.hasOwn(kept, name) ? [] : [`${name}@${version}`];
  });
}

function hasDevelopmentPackages(root: string): boolean {
  return existsSync(join(root, 'node_modules', 'typescript'));
}

// `pg@8` and `@aws-sdk/client-s3@3` without their version.
function nameOf(wanted: string): string {
  return wanted.slice(0, wanted.lastIndexOf('@'));
}

interface PackageFile {
  readonly version?: string;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function readJson(path: string): PackageFile {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as PackageFile) : {};
}
