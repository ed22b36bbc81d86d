// Compiles the sources into dist/ and copies the files that the compiler leaves out, such as pages and marts. Of the type
// declarations it keeps those that the exports of the package need, with their comments. Without the development dependencies the
// compiler is fetched for this run alone and types are not checked.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { devDependencies, exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'));
rmSync('dist', { recursive: true, force: true });
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
cpSync('src', 'dist/src', { recursive: true, filter: (path) => !/\.ts$|tsconfig\.json$/.test(path) });
chmodSync('dist/src/cli/main.js', 0o755);
copyRenderer('dist/src/web/reference/page');
const declarations = new Set();
for (const { types } of Object.values(entries)) if (types !== undefined) follow(join(types));
for (const path of readdirSync('dist', { recursive: true })) {
  const file = join('dist', path);
  if (file.endsWith('.d.ts') && !declarations.has(file)) rmSync(file);
}

// The reference of the API is drawn by one file of a package, so that its dependencies are not installed with sightline.
function copyRenderer(folder) {
  const name = 'openapi-explorer';
  let installed = join('node_modules', name);
  if (!existsSync(installed)) {
    const fetched = mkdtempSync(join(tmpdir(), 'sightline-renderer-'));
    run('npm', ['pack', `${name}@${devDependencies[name]}`, '--pack-destination', fetched]);
    const [archive] = readdirSync(fetched);
    run('tar', ['-xzf', join(fetched, archive), '-C', fetched]);
    installed = join(fetched, 'package');
  }
  cpSync(join(installed, 'dist/browser', `${name}.min.js`), join(folder, 'renderer.js'));
  cpSync(join(installed, 'LICENSE'), join(folder, 'renderer.LICENSE'));
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
