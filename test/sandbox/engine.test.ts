import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';

const folder = new URL('../../src/sandbox/', import.meta.url);
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }));

test('the sandbox server mentions no resource, endpoint or field by name', () => {
  const names = new Set(
    declarations.flatMap(({ name, path, tool }) => [name, tool, path, ...path.split('/').slice(1)]),
  );
  expect(names.size).toBeGreaterThan(declarations.length);
  for (const { name: file, text } of files) {
    const literals = [...text.matchAll(/'([^'\n]*)'|`([^`]*)`/g)].map((match) => match[1] ?? match[2] ?? '');
    for (const name of names) expect(literals, file).not.toContain(name);
    expect(text.match(/\b(brand|competitor|prompt|article|engine|citation)(s|Id)?\b/gi), file).toBeNull();
  }
});

test('the sandbox server imports only declarations from the engine', () => {
  const allowed = [
    '../contract/resource.ts',
    '../contract/query-parameters.ts',
    '../contract/parameters.ts',
    '../contract/fields.ts',
    '../contract/json-schema.ts',
  ];
  for (const { name: file, text } of files) {
    const imported = [...text.matchAll(/from '(\.[^']*)'/g)].map((match) => match[1] as string);
    const outside = imported.filter((path) => !path.startsWith('./'));
    expect(allowed, file).toEqual(expect.arrayContaining(outside));
  }
});
