import type { Catalogue, Resource } from '../../../contract/catalogue.ts';
import type { Conventions } from '../../../metrics/calibration/conventions.ts';
import type { Doubts } from '../../../metrics/calibration/findings.ts';
import { decimalsText } from '../../../metrics/calibration/point-words.ts';
import { doubtText, reportSentences } from '../../../metrics/calibration/report-sentences.ts';
import { fieldsOf } from './describe-tool.ts';
import { answerParts } from './endpoint-shape.ts';

/**
 * Returns how the numbers of a resource's response are written: percent or fraction, scale, direction. With `doubts`, also how they are
 * computed and rounded, and what upstream's responses do not determine; that is too long for the definitions of tools.
 */
export function describeNumbers(
  catalogue: Catalogue,
  resource: Resource,
  conventions: Conventions,
  doubts: Doubts | null = null,
): string[] {
  if (resource.computes === undefined && resource.change.kind !== 'window') return [];
  const parts = answerParts(catalogue, resource);
  const names = parts.flatMap(({ fields, beside }) => fieldsOf({ ...fields, ...beside })).map(({ name }) => name);
  const has = (name: string): boolean => names.some((one) => one.split('.').at(-1) === name);
  const { visibilityChange: change, domainShare, labels } = conventions;
  const sentences = sharesText(conventions, doubts, has);
  if (has('share')) sentences.push(`Base: all ${domainShare.of}.`);
  if (has('visibilityChange'))
    sentences.push(`visibilityChange: ${changeText(change)}${doubtText(['visibilityChange'], doubts)}.`);
  const positions = ['avgPosition', 'brandPosition', 'position'].filter(has);
  if (positions.length > 0) sentences.push(`${listed(positions)}: 1 is first, lower is better.`);
  if (has('sentiment') && has('visibility')) {
    const scale = Object.entries(labels).sort(([, a], [, b]) => b - a);
    const weights = listed(scale.map(([label, number]) => `${label} ${number}`));
    sentences.push(`sentiment: mean of ${weights}; higher is better${doubtText(['labels'], doubts)}.`);
  }
  return doubts === null ? sentences : [...sentences, ...reportSentences(resource.name, conventions, doubts)];
}

// Shares that are written alike are one sentence.
function sharesText(conventions: Conventions, doubts: Doubts | null, has: (name: string) => boolean): string[] {
  const shares = {
    visibility: 'visibility',
    shareOfVoice: 'shareOfVoice',
    share: 'domainShare',
    shareOfSite: 'shareOfSite',
  } as const;
  const written = new Map<string, string[]>();
  for (const [field, name] of Object.entries(shares)) {
    if (!has(field)) continue;
    const form = conventions[name];
    const scale = form.whole === 100 ? 'percent, 0 to 100' : 'fraction, 0 to 1';
    const text = `${scale}${doubts === null ? '' : `, ${decimalsText(form)}`}${doubtText([name], doubts)}.`;
    written.set(text, [...(written.get(text) ?? []), field]);
  }
  const percentFirst = [...written].sort(([a], [b]) => Number(a.startsWith('f')) - Number(b.startsWith('f')));
  return percentFirst.map(([text, fields]) => `${listed(fields)}: ${text}`);
}

function changeText({ as, whole }: Conventions['visibilityChange']): string {
  if (as === 'difference') return whole === 100 ? 'in percentage points' : 'difference of two fractions';
  return whole === 100 ? 'in percent of the earlier value' : 'as a fraction of the earlier value';
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
