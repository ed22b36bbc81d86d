import { brandListOf } from '../../contract/catalogue.ts';
import { RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { Scope } from '../../workspace/stored-keys.ts';
import { TOOL_URI } from './endpoints/data-dictionary.ts';
import { commonArguments } from './endpoints/endpoint-tool.ts';
import { DICTIONARY_URI, FRESHNESS_URI } from './mcp-resources.ts';
import type { Served } from './served.ts';
import { listWorkspaces } from './tool-calls.ts';
import { NOTE } from './tool-result.ts';

/** Workspaces that the instructions name. */
const WORKSPACES_NAMED_MAX = 10;

/** Returns the instructions of a server for a caller with these scopes: the use of each tool, and the arguments and results of all tools. */
export function instructionsOf({ catalogue, workspaces, hasSql }: Served, scopes: readonly Scope[]): string {
  const hasMetrics = scopes.includes('metrics');
  const needed = ` They need a brandId of ${brandListOf(catalogue).tool}.`;
  const mayRead = scopes.includes('read');
  const of = workspaces === null ? '' : '/{workspace}';
  const lines = [
    "sightline serves a replica of a workspace's AI-visibility data: how AI answer engines mention, rank and cite brands.",
    ...(workspaces === null ? [] : [`Every call names its workspace: ${workspacesText(workspaces)}.`]),
    ...(hasMetrics
      ? [
          'What happened: brief. Numbers, trends, rankings: query_metrics, in one call for all brands. Why a number changed: explain_change. Events: what_changed. Next steps: find_opportunities.',
        ]
      : []),
    ...(hasSql && scopes.includes('sql') ? ['Anything else: query (SQL), after list_tables and describe_table.'] : []),
    ...(mayRead
      ? [
          `The other tools are the endpoints of the API.${needed} Common arguments: ${commonText(catalogue)}`,
          `\`skip\` skips rows, \`maxTokens\` (\`max_tokens\` in the tools above) limits the size of a result. Lists are tables, {columns, rows}, if that is shorter; with \`plain\` rows are objects. A column {citations: [url, domain]} has lists of [url, domain].`,
        ]
      : []),
    `Names of brands, competitors, topics, tags and engines are accepted instead of ids. Days are UTC, YYYY-MM-DD; ranges are inclusive, at most ${RANGE_DAYS_MAX} days for the API.`,
    `All data are read-only. \`${NOTE}\` in each result has the time of the data (asOf), their coverage, and what was omitted; mention \`partial\` coverage when you report such numbers, and n or the interval beside a share.`,
    `${TOOL_URI}{name} explains the fields of an endpoint's result, ${DICTIONARY_URI} lists the tables, ${FRESHNESS_URI}${of} shows how current each resource is.`,
  ];
  return lines.join('\n');
}

function commonText(catalogue: Served['catalogue']): string {
  return [...commonArguments(catalogue)].map(([name, about]) => `\`${name}\`: ${about}`).join(' ');
}

function workspacesText(names: readonly string[]): string {
  const more = names.length - WORKSPACES_NAMED_MAX;
  const shown = names.slice(0, WORKSPACES_NAMED_MAX).join(', ');
  return more > 0 ? `${shown} and ${more} more, listed by ${listWorkspaces.name}` : shown;
}
