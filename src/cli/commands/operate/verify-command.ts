import { exitCodeOf } from '../../../base/ending.ts';
import type { Difference } from '../../../metrics/verification/comparison.ts';
import type { BrandVerification } from '../../../metrics/verification/verify-brand.ts';
import type { DayVerification } from '../../../metrics/verification/verify-days.ts';
import type { Verification, VerifiedBrand } from '../../../operations/verify.ts';
import { count, errorJson, plural, printData, printJson, reportError, say } from '../../output/output.ts';
import { createSyncProgress } from '../../output/progress-line.ts';
import { formatRows } from '../../output/row-format.ts';
import { rangeOf, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { day, flag, list } from '../../program/option-kinds.ts';

/** Differences of a brand that are shown. The JSON has all of them. */
const SHOWN_MAX = 10;

export const verify = defineCommand({
  options: {
    ...workspaceOptions,
    brand: list('<brands...>', 'only these brands, by name or ID'),
    from: day('first day, YYYY-MM-DD (default: all reported days)'),
    to: day('last day, YYYY-MM-DD (default: today)'),
    fresh: flag("fetch the API's reports again first"),
    repair: flag('fetch differing days again and verify once more'),
  },
  exits: '0 if all figures agree, 3 if some differ.',
  examples: [
    ['sightline verify', 'compare all reported days'],
    [
      'sightline verify --brand acme --from 2026-11-01 --repair',
      'compare some days of a brand and fetch differing ones again',
    ],
  ],
  run: async ({ brand, from, to, fresh, repair, ...unread }, begin) => {
    const { context, json, signal } = begin(unread);
    const request = { brands: brand, range: rangeOf(from, to), fresh, repair };
    const { endingOfVerification, verifyWorkspace } = await import('../../../operations/verify.ts');
    const progress = createSyncProgress(signal);
    const verification = await verifyWorkspace(await context(), request, progress.update).finally(progress.done);
    const shown = renderVerification(verification, json);
    if (json) printJson('verify', shown);
    return exitCodeOf(endingOfVerification(verification));
  },
});

/** Prints the result of a verification and returns its JSON form. With `json` it does not print the table. */
export function renderVerification(verification: Verification, json: boolean) {
  const { brands, error } = verification;
  if (!json && brands.length > 0) printData(toTable(brands));
  describe(verification);
  if (error !== null) reportError(error, false);
  return toJson(verification);
}

function toJson({ brands, repair, error }: Verification) {
  const of = (days: readonly DayVerification[], wanted: DayVerification['status']) =>
    days
      .filter(({ status }) => status === wanted)
      .map(({ day, upstream, stored, differences }) => ({ day, upstream, stored, differences }));
  return {
    agrees: error === null && !brands.some(({ differs }) => differs),
    brands: brands.map(({ brandId, name, verifiedThrough, days, ranges }) => ({
      brandId,
      name,
      verifiedThrough,
      days: { verified: days.length, agree: of(days, 'agrees').length, unreported: of(days, 'unreported').length },
      differing: of(days, 'differs'),
      settling: of(days, 'settling'),
      ranges: ranges.map(({ countsDiffer: _counts, ...range }) => range),
    })),
    repair,
    ...(error === null ? {} : errorJson(error)),
  };
}

function toTable(brands: readonly VerifiedBrand[]): string {
  const names = ['brand', 'days', 'agree', 'differ', 'settling', 'ranges differ', 'verified through'];
  const rows = brands.map((brand) => {
    const days = (wanted: DayVerification['status']) => brand.days.filter(({ status }) => status === wanted).length;
    const ranges = brand.ranges.filter(({ status }) => status === 'differs').length;
    const through = brand.verifiedThrough ?? '';
    return [
      brand.name ?? brand.brandId,
      brand.days.length,
      days('agrees'),
      days('differs'),
      days('settling'),
      ranges,
      through,
    ];
  });
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function describe({ brands, repair }: Verification): void {
  for (const brand of brands) describeBrand(brand);
  if (repair !== null && repair.ranges.length > 0) {
    const ranges = repair.ranges.map(({ from, to }) => (from === to ? from : `${from} to ${to}`));
    say(
      `fetched again: ${ranges.slice(0, SHOWN_MAX).join(', ')}${ranges.length > SHOWN_MAX ? ' and more' : ''}; ${plural(repair.requests, 'request')}`,
    );
  }
  const days = brands.reduce((sum, brand) => sum + brand.days.length, 0);
  const differ = brands.filter(({ differs }) => differs).length;
  if (days === 0) say('nothing to verify: upstream’s daily figures have not been fetched for these days');
  else if (differ === 0) say(`all figures agree: ${plural(days, 'day')} of ${plural(brands.length, 'brand')}`);
  else
    say(
      `${count(differ)} of ${plural(brands.length, 'brand')} differ${differ === 1 ? 's' : ''}${repair !== null ? ' still' : '; `sightline verify --repair` fetches those days again'}`,
    );
}

function describeBrand(brand: BrandVerification): void {
  const name = brand.name ?? brand.brandId;
  const lines = [
    ...brand.days.flatMap(({ day, status, differences }) => (status === 'differs' ? linesOf(day, differences) : [])),
    ...brand.ranges.flatMap(({ report, from, to, status, differences }) =>
      status === 'differs' ? linesOf(`${report} ${from} to ${to}`, differences) : [],
    ),
  ];
  for (const line of lines.slice(0, SHOWN_MAX)) say(`${name}: ${line}`);
  if (lines.length > SHOWN_MAX) say(`${name}: and ${count(lines.length - SHOWN_MAX)} more`);
}

function linesOf(scope: string, differences: readonly Difference[]): string[] {
  return differences.map(({ measure, subject, upstream, stored }) => {
    const by =
      upstream === null || stored === null ? '' : ` (${stored > upstream ? '+' : ''}${shown(stored - upstream)})`;
    return `${scope}: ${measure} of ${subject}: upstream ${shown(upstream)}, stored ${shown(stored)}${by}`;
  });
}

function shown(value: number | null): string {
  return value === null ? 'none' : String(Math.round(value * 10_000) / 10_000);
}
