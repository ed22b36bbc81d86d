/** Whether this run is `npm run test:endurance`, with the larger counts. */
export const IS_ENDURANCE = process.env['TEST_ENDURANCE'] === '1';

/** Returns how many cases, kills or rows a test uses: `usual` in `npm test`, `endurance` in `npm run test:endurance`. */
export function countOf(usual: number, endurance: number): number {
  return IS_ENDURANCE ? endurance : usual;
}

/** Returns `usual` of the cases, spread evenly from the one at `first` on; all of them in `npm run test:endurance`. */
export function sampleOf<T>(cases: readonly T[], usual: number, first = 0): readonly T[] {
  if (IS_ENDURANCE || usual >= cases.length) return cases;
  const indexes = Array.from({ length: usual }, (_, index) => first + Math.floor((index * cases.length) / usual));
  return indexes.map((index) => cases[index % cases.length] as T);
}
