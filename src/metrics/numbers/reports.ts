import type { Computation } from '../../contract/resource.ts';
import { reportGroups } from './groups.ts';
import { reportPrompts } from './prompts.ts';
import type { Report, ReportRequest } from './report-request.ts';
import { reportDomains, reportPages } from './sources.ts';
import { reportDays, reportTotals } from './visibility.ts';
import { reportVisits } from './visits.ts';

const computations: Readonly<Record<Computation, (request: ReportRequest) => Promise<Report>>> = {
  'by-nothing': reportTotals,
  'by-day': reportDays,
  'by-prompt': reportPrompts,
  'by-group': reportGroups,
  domains: reportDomains,
  pages: reportPages,
  visits: reportVisits,
};

/** Computes the report of a resource that is derived from responses or traffic instead of stored rows. */
export function computeReport(computation: Computation, request: ReportRequest): Promise<Report> {
  return computations[computation](request);
}

/** Returns the resources that a computation reads. The first one is synced by days. */
export function sourcesOf(computation: Computation): readonly string[] {
  switch (computation) {
    case 'visits':
      return ['traffic'];
    case 'domains':
    case 'pages':
      return ['responses'];
    case 'by-nothing':
    case 'by-day':
      return ['responses', 'competitors'];
    case 'by-prompt':
      return ['responses', 'competitors', 'prompts'];
    case 'by-group':
      return ['responses', 'competitors', 'prompts', 'prompt_groups'];
  }
}

/** Returns the resources whose stored rows or order a computation reads, beside the brand. */
export function readsOf(computation: Computation): readonly string[] {
  // Groups are named as upstream reported them.
  return computation === 'by-group' ? [...sourcesOf(computation), 'metrics_groups'] : sourcesOf(computation);
}

/** Whether a computation also reads the range preceding the requested one. */
export function looksBack(computation: Computation): boolean {
  return computation === 'by-prompt' || computation === 'by-group';
}
