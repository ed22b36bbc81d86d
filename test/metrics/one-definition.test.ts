import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formulas } from '../../src/metrics/marts/formulas.ts';
import { responseSums } from '../../src/metrics/model/response-sums.ts';

const src = join(import.meta.dirname, '../../src');
const DEFINITION = 'metrics/model/response-sums.ts';
const OWNERS = 'metrics/marts/formulas.ts';

/** The file that may write an expression, and expressions that compute the same. */
const expressions: Readonly<Record<string, { readonly file: string; readonly pattern: RegExp }>> = {
  'responses that mention the brand': {
    file: DEFINITION,
    pattern: /count\(\*\) FILTER \((WHERE )?(?!NOT )([^()]* AND )?(\w+\.|\$\{)?(brand_)?mentioned\}?\)/i,
  },
  'a mention as a number': {
    file: DEFINITION,
    pattern: /CAST\((\w+\.|\$\{)?(brand_)?mentioned\}? AS (INTEGER|BIGINT|DOUBLE)\)/i,
  },
  'a mention as a case': { file: DEFINITION, pattern: /(CASE WHEN|if\() ?(\w+\.)?brand_mentioned( THEN|,) 1\b/i },
  'positions of the brand': { file: DEFINITION, pattern: /\b(sum|count|avg|min|max)\((\w+\.)?brand_position\)/i },
  'sums of positions': { file: DEFINITION, pattern: /\bsum\(\$\{position\}\)/ },
  'the first position': { file: DEFINITION, pattern: /\bleast\(1, min\(position\)\)|= \(SELECT place FROM/i },
  'mentions with a label': { file: DEFINITION, pattern: /\bbrand_sentiment = |count\((\w+\.)?brand_sentiment\)/i },
  'the value of a lean': { file: DEFINITION, pattern: /WHEN 'positive' THEN 1\b/i },
  'whether a domain is owned': { file: OWNERS, pattern: /\bends_with\(|\^www/i },
};

/** The files that contain SQL. */
const texts = ['metrics', 'read', 'operations', 'web/page-data', 'web/report', 'serve/data'].flatMap((folder) =>
  readdirSync(join(src, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(sql|ts)$/.test(name))
    .map((name) => {
      const text = readFileSync(join(src, folder, name), 'utf8').replaceAll(/\s+/g, ' ');
      return { file: `${folder}/${name.replaceAll('\\', '/')}`, text };
    }),
);

test.each(Object.entries(expressions))('%s are defined in one file', (_name, { file: allowed, pattern }) => {
  const files = texts.flatMap(({ file, text }) => (pattern.test(text) ? [file] : []));
  expect(files).toEqual(files.includes(allowed) ? [allowed] : []);
});

test('the patterns find the expressions if another file writes them', () => {
  const written = [
    responseSums.mention_count('r.brand_mentioned'),
    responseSums.mention('brand_mentioned'),
    'CASE WHEN t.brand_mentioned THEN 1 ELSE 0 END',
    responseSums.position_sum('r.brand_mentioned', 'r.brand_position'),
    `sum(\${position})`,
    responseSums.first_place().replaceAll(/\s+/g, ' '),
    responseSums.labelled_count('t.brand_mentioned', 't.brand_sentiment'),
    responseSums.lean_value('lean'),
    formulas.is_at_host('host', 'site'),
  ];
  const patterns = Object.values(expressions).map(({ pattern }) => pattern);
  expect(written.map((text, at) => patterns[at]?.test(text))).toEqual(written.map(() => true));
  expect(patterns[0]?.test('count(*) FILTER (day > $from AND brand_mentioned)')).toBe(true);
  expect(patterns[0]?.test('count(*) FILTER (NOT brand_mentioned)')).toBe(false);
});
