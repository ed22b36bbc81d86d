import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toShown, toShownTexts } from '../../src/read/shown-text.ts';

it('keeps plain text, and redacts keys anywhere in it', () => {
  const plain = { names: ['Kavárna Žluťoučký kůň', '株式会社', '<b>"&', ''], days: 3, none: null, isNew: true };
  expect(toShownTexts(plain)).toEqual(plain);
  expect(toShownTexts([{ error: 'refused gsk_abcdefgh' }])).toEqual([{ error: 'refused gsk_…' }]);
});

it('limits the length of any text, and removes characters that affect surrounding text or break SVG', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.nat(0xffff).map((code) => String.fromCharCode(code)),
      fc.string(),
    ),
  });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 20 }), (any, most) => {
      const shown = toShown(any, most);
      expect([...shown].length).toBeLessThanOrEqual(most + 1);
      expect(shown.isWellFormed()).toBe(true);
      expect(shown).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
      expect(toShown(shown, most + 1)).toBe(shown);
    }),
  );
});
