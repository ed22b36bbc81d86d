// Reports how the prose of the project reads: rates per 1,000 words of phrases that plain technical English uses rarely.
// `npm run prose -- [--list] [path ...]`; with --list every occurrence is printed with its file and line.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Phrases, and the target rates per 1,000 words. */
const PHRASES = [
  { name: 'what/who/whose', pattern: /\b(what|who|whoever|whatever|whose|whom)\b/gi, aim: 7 },
  { name: 'where', pattern: /\b(where|wherever)\b/gi, aim: 2 },
  { name: 'is no', pattern: /\b(is|are|was|were) no\b/gi, aim: 1 },
  { name: 'tells/says', pattern: /\b(tells?|told|says?|said)\b/gi, aim: 1.5 },
];
const ROOTS = ['src', 'jobs', 'schemas', 'test', 'docs', 'README.md'];
const EXCLUDED = /node_modules|fixtures|test\/prose\.mjs$/;

const args = process.argv.slice(2);
const listed = args.includes('--list');
const paths = args.filter((arg) => !arg.startsWith('--'));
const groups = new Map();

for (const file of (paths.length > 0 ? paths : ROOTS).flatMap(filesOf)) {
  const source = readFileSync(file, 'utf8');
  const kind = file.endsWith('.md') ? 'docs' : file.startsWith('test/') ? 'comments of test' : commentsOf(file);
  const passages = file.endsWith('.md') ? [{ text: source.replace(/`[^`]*`/g, ' '), line: 1 }] : passagesOf(source);
  for (const { text, line, isMessage } of passages) {
    const name = isMessage ? kind.replace('comments', 'messages') : kind;
    const group = groups.get(name) ?? { words: 0, counts: PHRASES.map(() => 0) };
    groups.set(name, group);
    group.words += text.match(/[A-Za-z][A-Za-z'’-]*/g)?.length ?? 0;
    for (const [index, { name, pattern }] of PHRASES.entries()) {
      for (const match of text.matchAll(pattern)) {
        group.counts[index] += 1;
        const before = text.slice(0, match.index);
        const at = line + before.split('\n').length - 1;
        const shown = text.split('\n')[before.split('\n').length - 1].trim();
        if (listed) process.stdout.write(`${file}:${at}: ${name}: ${shown}\n`);
      }
    }
  }
}

const columns = ['', 'words', ...PHRASES.map(({ name, aim }) => `${name} (aim < ${aim})`)];
const rows = [...groups]
  .sort(([a], [b]) => a.localeCompare(b))
  .map(([kind, { words, counts }]) => [
    kind,
    String(words),
    ...counts.map((count) => ((count / Math.max(1, words)) * 1000).toFixed(1)),
  ]);
const widths = columns.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index].length)));
for (const row of [columns, ...rows]) {
  process.stdout.write(
    `${row.map((cell, index) => (index === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[index]))).join('  ')}\n`,
  );
}

function filesOf(path) {
  if (EXCLUDED.test(path)) return [];
  if (statSync(path).isDirectory())
    return readdirSync(path)
      .sort()
      .flatMap((name) => filesOf(join(path, name)));
  return /\.(ts|mjs|md)$/.test(path) ? [path] : [];
}

function commentsOf(file) {
  return `comments of ${file
    .split('/')
    .slice(0, file.startsWith('src/') ? 2 : 1)
    .join('/')}`;
}

// Comments, and strings of at least four words that are not SQL. Matching strings together with comments
// avoids finding comments inside strings.
function passagesOf(source) {
  const tokens = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  return [...source.matchAll(tokens)].flatMap((match) => {
    const [text] = match;
    const isMessage = !text.startsWith('/');
    if (
      isMessage &&
      (!/([A-Za-z]+[ ,:;.]+){3}[A-Za-z]/.test(text) || /\b(SELECT|FROM|CREATE|WHERE|INSERT|CASE)\b/.test(text))
    ) {
      return [];
    }
    return [{ text, line: source.slice(0, match.index).split('\n').length, isMessage }];
  });
}
