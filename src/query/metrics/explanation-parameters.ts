import { SCOPE_PARAMETERS } from './scope-request.ts';

/** Names of the parameters of explainMetric. */
export const EXPLAIN_PARAMETERS = ['metric', ...SCOPE_PARAMETERS, 'before_from', 'before_to'] as const;
/** Names of the parameters of listChanges. */
export const CHANGES_PARAMETERS = ['since', 'brand', 'kind'] as const;
/** Names of the parameters of listOpportunities. */
export const OPPORTUNITIES_PARAMETERS = ['brand', 'from', 'to', 'limit'] as const;

/** Value of `since` if it is not given. */
export const SINCE = '7d';
/** Number of opportunities without the parameter `limit`, and its maximum. */
export const OPPORTUNITIES_LISTED = 20;
export const OPPORTUNITIES_MAX = 200;
