// Compiles the sources into dist/, builds the data pages, writes the documents that the program prints, and copies the files that the compiler leaves out, such as marts. Of the
// type declarations it keeps those that the exports of the package need, with their comments. Without the development dependencies
// the compiler and the packages of the data pages are fetched for this run alone and types are not checked.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { devDependencies, exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'));
rmSync('dist', { recursive: true, force: true });
/** Sources of the data pages, which Vite bundles. */
const PAGES = join('src', 'web', 'app');
/** The pages for browsers, and the report for Node. */
const CONFIGS = ['vite.config.mjs', 'vite-report.config.mjs'];
const REPORT = join('src', 'web', 'report-app');
const FONTS = '@expo-google-fonts/public-sans';
/** The font of the pages, whose style sheet names its files. */
const INTER = '@fontsource-variable/inter';
const compiler = `typescript@${devDependencies.typescript}`;
const isInstalled = existsSync('node_modules/typescript');
const fetched = ['npm', 'exec', '--yes', `--package=${compiler}`, '--', 'tsc', '--noCheck', '--types', ''];
const compile = isInstalled ? ['node', 'node_modules/typescript/bin/tsc'] : fetched;
if (!isInstalled) {
  process.stderr.write(
    `The development dependencies are not installed: ${compiler} is fetched, and types are not checked.\n`,
  );
}
// One run cannot keep the comments of declarations and remove those of the code.
run(...compile, '--emitDeclarationOnly');
run(...compile, '--noCheck', '--declaration', 'false', '--removeComments');
cpSync('src', 'dist/src', {
  recursive: true,
  filter: (path) => path !== PAGES && !/\.ts$|tsconfig\.json$/.test(path),
});
chmodSync('dist/src/cli/main.js', 0o755);
copyRenderer('dist/src/web/reference/page');
buildPages();
await writeDocs();
const declarations = new Set();
for (const { types } of Object.values(entries)) if (types !== undefined) follow(join(types));
for (const path of readdirSync('dist', { recursive: true })) {
  const file = join('dist', path);
  if (file.endsWith('.d.ts') && !declarations.has(file)) rmSync(file);
}

// The manual page, the data dictionary and the JSON Schemas, as the built program prints them.
async function writeDocs() {
  const { printedDocs } = await import('../dist/src/cli/printed-docs.js');
  for (const [path, text] of await printedDocs()) {
    mkdirSync(dirname(join('dist', 'docs', path)), { recursive: true });
    writeFileSync(join('dist', 'docs', path), text);
  }
}

// The reference of the API is drawn by one file of a package, so that its dependencies are not installed with sightline.
function copyRenderer(folder) {
  const name = 'openapi-explorer';
  let installed = join('node_modules', name);
  if (!existsSync(installed)) {
    const fetched = mkdtempSync(join(tmpdir(), 'sightline-renderer-'));
    run('npm', 'pack', `${name}@${devDependencies[name]}`, '--pack-destination', fetched);
    const [archive] = readdirSync(fetched);
    run('tar', '-xzf', join(fetched, archive), '-C', fetched);
    installed = join(fetched, 'package');
  }
  cpSync(join(installed, 'dist/browser', `${name}.min.js`), join(folder, 'renderer.js'));
  cpSync(join(installed, 'LICENSE'), join(folder, 'renderer.LICENSE'));
}

// Vite resolves the packages of the pages from the folder of their sources, so that without the development dependencies a copy of
// the sources is built beside the fetched packages. The lock file decides their versions.
function buildPages() {
  const vite = join('node_modules', 'vite', 'bin', 'vite.js');
  const build = (folder) => {
    for (const config of CONFIGS) {
      run('node', join(folder, vite), 'build', '--config', join(folder, '.ci', config), '--logLevel', 'warn');
    }
    copyFonts(join(folder, 'node_modules'));
  };
  if (existsSync(vite)) return build('.');
  const folder = mkdtempSync(join(tmpdir(), 'sightline-pages-'));
  cpSync(PAGES, join(folder, PAGES), { recursive: true });
  for (const config of CONFIGS) cpSync(join('.ci', config), join(folder, '.ci', config));
  cpSync('package-lock.json', join(folder, 'package-lock.json'));
  const dependencies = Object.fromEntries(packagesOfPages().map((name) => [name, devDependencies[name]]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  run('npm', 'install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error');
  build(folder);
  for (const path of [PAGES, REPORT]) cpSync(join(folder, 'dist', path), join('dist', path), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
}

// Charts as PNG have texts on machines without fonts.
function copyFonts(packages) {
  const from = join(packages, FONTS);
  mkdirSync(join('dist', 'src', 'web', 'fonts'), { recursive: true });
  for (const [path, name] of [
    ['400Regular/PublicSans_400Regular.ttf', 'public-sans-regular.ttf'],
    ['700Bold/PublicSans_700Bold.ttf', 'public-sans-bold.ttf'],
    ['LICENSE_FONT', 'public-sans.LICENSE'],
  ]) {
    copyFileSync(join(from, path), join('dist', 'src', 'web', 'fonts', name));
  }
  copyFileSync(join(packages, INTER, 'LICENSE'), join('dist', 'src', 'web', 'fonts', 'inter.LICENSE'));
}

// Vite and the development dependencies that the pages import.
function packagesOfPages() {
  const texts = readdirSync(PAGES, { recursive: true })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(join(PAGES, path), 'utf8'));
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/from '((?:@[^/']+\/)?[^@./'][^/']*)/g)].map(([, name]) => name),
  );
  return ['vite', FONTS, INTER, ...new Set(imported)].filter((name) => devDependencies[name] !== undefined);
}

// Adds a declaration file and those that it imports.
function follow(file) {
  if (declarations.has(file)) return;
  declarations.add(file);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom |\bimport\()['"](\.[^'"]+)\.[jt]s['"]/g)) {
    follow(join(dirname(file), `${path}.d.ts`));
  }
}

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
