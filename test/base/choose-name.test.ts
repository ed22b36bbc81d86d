import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseNamed, nearestName } from '../../src/base/choose-name.ts';

const brands = [
  { id: '0199ab12-0000-4000-8000-000000000001', name: 'Acme' },
  { id: '0199ab12-0000-4000-8000-000000000002', name: 'Acme Labs' },
  { id: '77777777-0000-4000-8000-000000000003', name: 'Orbit' },
  { id: '88888888-0000-4000-8000-000000000004', name: null },
];

const chosen = (given: string): string => chooseNamed('brand', given, brands).id.slice(-1);

describe('choosing by name', () => {
  test('accepts an id, a name in any case, and a unique beginning of either', () => {
    const given = ['0199AB12-0000-4000-8000-000000000002', 'Acme', 'acme labs', 'orb', '7777', 'ACME L', '88888888'];
    expect(given.map(chosen)).toEqual(['2', '1', '2', '3', '3', '2', '4']);
  });

  test('rejects an ambiguous beginning, an unknown name and an empty text, and suggests the nearest name', () => {
    expect(() => chosen('0199')).toThrow('brand "0199" is ambiguous; it matches Acme (0199ab12), Acme Labs (0199ab12)');
    expect(() => chosen('Orbti')).toThrow('did you mean "Orbit"?');
    expect(() => chosen('zzz')).toThrow(/^unknown brand "zzz"; allowed: Acme \(0199ab12\), .*88888888-[-0-9]+$/);
    expect(() => chosen('')).toThrow('unknown brand ""');
    expect(() => chooseNamed('brand', 'x', [])).toThrow('unknown brand "x"; allowed: none');
    expect(() => chosen('Acmee')).toThrow('did you mean "Acme"?');
    const long = [{ id: '99999999-0000-4000-8000-000000000005', name: `Orbital\n${'x'.repeat(100)}` }];
    expect(() => chooseNamed('brand', 'x', long)).toThrow(`allowed: Orbital ${'x'.repeat(51)}… (99999999)`);
    const labs = [{ id: '99999999-0000-4000-8000-000000000005', name: 'Orbital Labs of Europe' }];
    expect(() => chooseNamed('brand', 'Orbitall', labs)).toThrow('did you mean "Orbital"?');
  });

  test('rejects the beginning of an id and of the name of another item', () => {
    const known = [...brands, { id: '99999999-0000-4000-8000-000000000005', name: '7777 Up' }];
    expect(() => chooseNamed('brand', '7777', known)).toThrow(
      'brand "7777" is ambiguous; it matches Orbit (77777777), 7777 Up (99999999)',
    );
    expect(chooseNamed('brand', '77777', known).name).toBe('Orbit');
    expect(chooseNamed('brand', '7777 u', known).name).toBe('7777 Up');
  });

  test('names at most 8 items and counts the others', () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ id: `${index}`, name: `brand-${index}` }));
    expect(() => chooseNamed('brand', 'other', many)).toThrow('and 12 more');
  });
});

describe('the nearest name', () => {
  test('has the smallest distance of all names', () => {
    const near = fc.string({ unit: fc.constantFrom(...'abc'), minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(near, fc.array(near, { minLength: 1, maxLength: 8 }), (given, names) => {
        const distances = names.map((name) => ({ name, distance: plainDistance(given, name) }));
        const similar = distances.filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)));
        const least = Math.min(...similar.map(({ distance }) => distance));
        const found = nearestName(given, names);
        expect(found).toBe(similar.find(({ distance }) => distance === least)?.name ?? null);
      }),
    );
  });

  test('is not sought for a long text', () => {
    expect(nearestName(`${'x'.repeat(59)}y`, ['x'.repeat(60)])).toBe('x'.repeat(60));
    expect(nearestName('x'.repeat(61), ['x'.repeat(60)])).toBeNull();
  });
});

// The optimal string alignment distance by its definition.
function plainDistance(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const cost = a.at(-1) === b.at(-1) ? 0 : 1;
  const [shortA, shortB] = [a.slice(0, -1), b.slice(0, -1)];
  const isSwap = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1);
  return Math.min(
    plainDistance(shortA, shortB) + cost,
    ...(cost === 0 ? [] : [plainDistance(shortA, b) + 1, plainDistance(a, shortB) + 1]),
    ...(isSwap ? [plainDistance(a.slice(0, -2), b.slice(0, -2)) + 1] : []),
  );
}
