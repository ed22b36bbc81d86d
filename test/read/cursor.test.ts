import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ParameterError } from '../../src/contract/query-parameters.ts';
import { createCursorSigner, type Position } from '../../src/read/cursor-signer.ts';

const position = fc.record<Position>({
  at: fc.option(fc.string(), { nil: null }),
  id: fc.uuid(),
  from: fc.constantFrom('2026-01-01', '2026-02-01'),
  to: fc.constantFrom('2026-02-28', '2026-03-01'),
});
const binding = (name: string) => (range: { from: string; to: string }) => JSON.stringify([name, range.from, range.to]);

describe('a cursor', () => {
  const signer = createCursorSigner(randomBytes(32));

  it('decodes to the position that was encoded', () => {
    fc.assert(
      fc.property(position, fc.string(), (place, name) => {
        expect(signer.read(signer.write(place, binding(name)), binding(name))).toEqual(place);
      }),
    );
  });

  it('is rejected for another request, under another secret, and with any bit changed', () => {
    const other = createCursorSigner(randomBytes(32));
    fc.assert(
      fc.property(position, fc.nat(), (place, at) => {
        const cursor = signer.write(place, binding('a'));
        expect(() => signer.read(cursor, binding('b'))).toThrow(ParameterError);
        expect(() => other.read(cursor, binding('a'))).toThrow(ParameterError);
        const bytes = Buffer.from(cursor, 'base64url');
        bytes[Math.floor(at / 8) % bytes.length] =
          (bytes[Math.floor(at / 8) % bytes.length] as number) ^ (1 << (at % 8));
        expect(() => signer.read(bytes.toString('base64url'), binding('a'))).toThrow(ParameterError);
      }),
    );
  });

  it('is rejected if extended, truncated or encoded differently', () => {
    const cursor = signer.write({ at: '2026-01-01 00:00:00', id: 'x', from: 'a', to: 'b' }, binding('a'));
    const others = [
      `${cursor}A`,
      cursor.slice(0, -1),
      `${cursor}=`,
      ` ${cursor}`,
      `${cursor}\n`,
      cursor.slice(0, 20),
      '.',
      'null',
    ];
    for (const changed of others) expect(() => signer.read(changed, binding('a')), changed).toThrow(ParameterError);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(() => signer.read(text, binding('a'))).toThrow(ParameterError);
      }),
    );
  });

  it('reveals only the position of its inputs', () => {
    const cursor = signer.write({ at: null, id: 'x', from: 'a', to: 'b' }, () => 'the brand and its filters');
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain('brand');
  });
});
