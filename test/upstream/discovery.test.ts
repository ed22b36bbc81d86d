import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { learnParameterNames } from '../../src/upstream/discovery.ts';

const { resources } = createCatalogue(declarations);
const open = resources.filter(({ query }) => Object.values(query).some(({ nameUnknown }) => nameUnknown === true));
const declared = Object.entries(open[0]?.query ?? {}).find(([, { nameUnknown }]) => nameUnknown === true)?.[0] ?? '';
const documentWith = (name: string, path = open[0]?.path ?? '') => {
  const values = open[0]?.query[declared]?.values;
  return { paths: { [path]: { get: { parameters: [{ in: 'query', name, schema: { enum: values } }] } } } };
};

describe('the actual name of a parameter with nameUnknown', () => {
  test('is read from the OpenAPI document', () => {
    expect([...learnParameterNames(resources, documentWith('rowMode')).values()]).toEqual([{ [declared]: 'rowMode' }]);
  });

  test.for(['from', 'a b', '', 'x'.repeat(1_000), '__proto__[x]', 'a&b=c'])('%j is rejected as a name', (name) => {
    expect(learnParameterNames(resources, documentWith(name)).size).toBe(0);
  });

  test.for<[string, unknown]>([
    ['a path of a million braces', { paths: { ['{'.repeat(1_000_000)]: {} } }],
    ['a path of a million slashes', { paths: { [`${'/'.repeat(1_000_000)}x`]: {} } }],
    [
      'a million paths',
      { paths: Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`/${index}`, {}])) },
    ],
    ['references to themselves', { paths: { [open[0]?.path ?? '']: { $ref: '#/paths' } } }],
    ['no paths', { paths: 'none' }],
  ])('is not searched for long in %s', ([, document]) => {
    expect(learnParameterNames(resources, document).size).toBe(0);
  });
});
