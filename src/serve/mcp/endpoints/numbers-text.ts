import type { Conventions } from '../../../analytics/calibration/conventions.ts';
import type { Catalogue, Resource } from '../../../contract/catalogue.ts';
import { fieldsOf } from './describe-tool.ts';
import { answerParts } from './tool.ts';

/** Returns how the numbers of a resource's response are written: percent or fraction, scale, direction. */
export function describeNumbers(catalogue: Catalogue, resource: Resource, conventions: Conventions): string[] {
  if (resource.computes === undefined && resource.change.kind !== 'window') return [];
  const parts = answerParts(catalogue, resource);
  const names = parts.flatMap(({ fields, beside }) => fieldsOf({ ...fields, ...beside })).map(({ name }) => name);
  const has = (name: string): boolean => names.some((one) => one.split('.').at(-1) === name);
  const { visibilityChange: change, domainShare, labels } = conventions;
  const sentences: string[] = [];
  for (const whole of [100, 1] as const) {
    const shares = {
      visibility: conventions.visibility.whole,
      shareOfVoice: conventions.shareOfVoice.whole,
      share: domainShare.whole,
      shareOfSite: conventions.shareOfSite.whole,
    };
    const written = Object.entries(shares).flatMap(([name, of]) => (of === whole && has(name) ? [name] : []));
    if (written.length > 0)
      sentences.push(`${listed(written)}: ${whole === 100 ? 'percent, 0 to 100' : 'fraction, 0 to 1'}.`);
  }
  if (has('share')) sentences.push(`Base: all ${domainShare.of}.`);
  if (has('visibilityChange')) sentences.push(`visibilityChange: ${changeText(change)}.`);
  const positions = ['avgPosition', 'brandPosition', 'position'].filter(has);
  if (positions.length > 0) sentences.push(`${listed(positions)}: 1 is first, lower is better.`);
  if (has('sentiment') && has('visibility')) {
    const scale = Object.entries(labels).sort(([, a], [, b]) => b - a);
    sentences.push(
      `sentiment: mean of ${listed(scale.map(([label, number]) => `${label} ${number}`))}; higher is better.`,
    );
  }
  return sentences;
}

function changeText({ as, whole }: Conventions['visibilityChange']): string {
  if (as === 'difference') return whole === 100 ? 'in percentage points' : 'difference of two fractions';
  return whole === 100 ? 'in percent of the earlier value' : 'as a fraction of the earlier value';
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
