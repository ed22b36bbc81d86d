import { isRecord } from '../../../base/json.ts';
import type { Conventions } from '../conventions.ts';
import { fieldValues } from './facts.ts';
import type { CalibrationPoint } from './point.ts';

interface Empty<Name extends keyof Conventions> {
  readonly name: Name;
  readonly about: string;
  readonly field: string;
  readonly resources: readonly string[];
  readonly candidates: readonly Conventions[Name][];
  settles?(candidate: Conventions[Name], conventions: Conventions): unknown;
}

const WITH_VOICE = ['metrics', 'metrics_daily', 'metrics_groups'] as const;
const ALL = [...WITH_VOICE, 'metrics_prompts'] as const;

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
  candidates: ['share', 0, null],
  settles: (candidate, { emptyShare }) => (candidate === 'share' ? emptyShare : candidate),
  isPartial: true,
  facts: ({ body }) => {
    const totals = isRecord(body) && isRecord(body['totals']) ? body['totals'] : {};
    return { kind: 'values', values: new Map([['shareOfSite', totals['shareOfSite'] ?? null]]) };
  },
};

/** Points about numbers without responses, mentions or sessions. */
export const emptyPoints: readonly CalibrationPoint[] = [
  emptyPoint({
    name: 'emptyShare',
    about: 'visibility without responses',
    field: 'visibility',
    resources: ALL,
    candidates: [0, null],
  }),
  emptyPoint({
    name: 'emptyVoice',
    about: 'share of voice without mentions',
    field: 'shareOfVoice',
    resources: WITH_VOICE,
    candidates: ['share', 0, null],
    settles: (candidate, { emptyShare }) => (candidate === 'share' ? emptyShare : candidate),
  }),
  emptyPoint({
    name: 'emptyMean',
    about: 'the mean position without mentions',
    field: 'avgPosition',
    resources: ALL,
    candidates: [null, 0],
  }),
  emptyPoint({
    name: 'emptySentiment',
    about: 'the mean sentiment without mentions',
    field: 'sentiment',
    resources: ALL,
    candidates: ['mean', null, 0],
    settles: (candidate, { emptyMean }) => (candidate === 'mean' ? emptyMean : candidate),
  }),
  emptySite,
] as readonly CalibrationPoint[];
