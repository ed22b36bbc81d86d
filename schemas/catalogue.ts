import type { ResourceDeclaration } from '../src/contract/resource.ts';
import { actionPlans } from './action-plans.ts';
import { alerts } from './alerts.ts';
import { article } from './article.ts';
import { articles } from './articles.ts';
import { brand } from './brand.ts';
import { brands } from './brands.ts';
import { citedDomains } from './cited-domains.ts';
import { citedUrls } from './cited-urls.ts';
import { competitors } from './competitors.ts';
import { credits } from './credits.ts';
import { engines } from './engines.ts';
import { forumOpportunities } from './forum-opportunities.ts';
import { metrics } from './metrics.ts';
import { metricsDaily } from './metrics-daily.ts';
import { metricsGroups } from './metrics-groups.ts';
import { metricsPrompts } from './metrics-prompts.ts';
import { promptGroups } from './prompt-groups.ts';
import { prompts } from './prompts.ts';
import { responses } from './responses.ts';
import { traffic } from './traffic.ts';

/** Declarations of all endpoints, in the order of documents and menus. */
export const declarations: readonly ResourceDeclaration[] = [
  engines,
  credits,
  brands,
  brand,
  competitors,
  prompts,
  promptGroups,
  metrics,
  metricsDaily,
  metricsPrompts,
  metricsGroups,
  traffic,
  citedDomains,
  citedUrls,
  responses,
  alerts,
  actionPlans,
  articles,
  article,
  forumOpportunities,
];
