/** Program that starts an MCP server, with absolute paths. */
export interface McpProgram {
  /** Name of the server in the client. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** Clients that start MCP servers: the file of their settings, and the text for it. */
export const mcpClients = {
  'claude-desktop': {
    file: 'claude_desktop_config.json (Settings > Developer > Edit Config)',
    text: (program) => json({ mcpServers: server(program) }),
  },
  'claude-code': {
    file: '.mcp.json in the folder of the project',
    text: (program) => json({ mcpServers: server(program, { type: 'stdio' }) }),
  },
  cursor: {
    file: '~/.cursor/mcp.json, or .cursor/mcp.json in the folder of the project',
    text: (program) => json({ mcpServers: server(program) }),
  },
  vscode: {
    file: '.vscode/mcp.json in the folder of the project',
    text: (program) => json({ servers: server(program, { type: 'stdio' }) }),
  },
  codex: {
    file: '~/.codex/config.toml',
    // TOML's basic strings and arrays are written like JSON's.
    text: ({ name, command, args }) =>
      `[mcp_servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}`,
  },
} as const satisfies Readonly<Record<string, { readonly file: string; text(program: McpProgram): string }>>;

export type McpClient = keyof typeof mcpClients;

function server({ name, command, args }: McpProgram, more: object = {}): object {
  return { [name]: { ...more, command, args } };
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}
