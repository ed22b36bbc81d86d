import { conventionSchemas, type Conventions } from '../conventions.ts';
import { fieldValues, NUMBERED, totalsOf, WITH_VOICE } from './facts.ts';
import type { CalibrationPoint } from './point.ts';

interface Empty<Name extends keyof Conventions> {
  readonly name: Name;
  readonly about: string;
  readonly field: string;
  readonly resources: readonly string[];
  readonly candidates: readonly Conventions[Name][];
  settles?(candidate: Conventions[Name], conventions: Conventions): unknown;
}

function emptyPoint<Name extends keyof Conventions>({ field, ...point }: Empty<Name>): CalibrationPoint<Name> {
  return {
    ...point,
    isPartial: true,
    facts: (response, question) => fieldValues(response, question, field),
  };
}

const emptySite: CalibrationPoint<'emptySite'> = {
  name: 'emptySite',
  about: 'the share of a site without sessions',
  resources: ['traffic'],
  candidates: [...conventionSchemas.emptySite.values],
  settles: (candidate, { emptyShare }) => (candidate === 'share' ? emptyShare : candidate),
  isPartial: true,
  facts: (response) => ({
    kind: 'values',
    values: new Map([['shareOfSite', totalsOf(response)['shareOfSite'] ?? null]]),
  }),
};

/** Points about numbers without responses, mentions or sessions. */
export const emptyPoints: readonly CalibrationPoint[] = [
  emptyPoint({
    name: 'emptyShare',
    about: 'visibility without responses',
    field: 'visibility',
    resources: NUMBERED,
    candidates: [...conventionSchemas.emptyShare.values],
  }),
  emptyPoint({
    name: 'emptyVoice',
    about: 'share of voice without mentions',
    field: 'shareOfVoice',
    resources: WITH_VOICE,
    candidates: [...conventionSchemas.emptyVoice.values],
    settles: (candidate, { emptyShare }) => (candidate === 'share' ? emptyShare : candidate),
  }),
  emptyPoint({
    name: 'emptyMean',
    about: 'the mean position without mentions',
    field: 'avgPosition',
    resources: NUMBERED,
    candidates: [...conventionSchemas.emptyMean.values],
  }),
  emptyPoint({
    name: 'emptySentiment',
    about: 'the mean sentiment without mentions',
    field: 'sentiment',
    resources: NUMBERED,
    candidates: [...conventionSchemas.emptySentiment.values],
    settles: (candidate, { emptyMean }) => (candidate === 'mean' ? emptyMean : candidate),
  }),
  emptySite,
] as readonly CalibrationPoint[];
