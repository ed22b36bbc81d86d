/** Names of the MCP tools that are not endpoints. No tool of an undeclared endpoint gets one of them. */
export const SERVER_TOOLS = [
  'list_workspaces',
  'query_metrics',
  'list_metrics',
  'list_dimension_values',
  'explain_change',
  'what_changed',
  'brief',
  'find_opportunities',
  'query',
  'list_tables',
  'describe_table',
] as const;

/** Name of an MCP tool that is not an endpoint. */
export type ServerTool = (typeof SERVER_TOOLS)[number];
