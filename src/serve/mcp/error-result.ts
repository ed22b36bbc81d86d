import type { CallToolResult } from '@modelcontextprotocol/server';
import { errorTable, type SightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { listerOf, type Tool } from './tool.ts';

/** Converts an error to a result for a model: what is wrong, what is allowed, the next step. Text only. */
export function toErrorResult(error: SightlineError, catalogue: Catalogue, tool: Tool): CallToolResult {
  const text = `${error.code}: ${sentenceOf(error)}\n${adviceOn(error, catalogue, tool)}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

// The message of an internal error goes to the log only, because it may contain details that clients must not see.
function sentenceOf({ code, message }: SightlineError): string {
  return code === 'internal' ? errorTable.internal.about : message;
}

function adviceOn({ code, hint }: SightlineError, catalogue: Catalogue, tool: Tool): string {
  switch (code) {
    case 'invalid_parameter': {
      const names = [...tool.inPath.map((name) => `${name} (required)`), ...tool.inQuery.map(({ name }) => name)];
      if (tool.skipName !== null) names.push(tool.skipName);
      const takes = names.length === 0 ? 'no arguments' : names.join(', ');
      return `${hint} ${tool.definition.name} takes ${takes}.`;
    }
    // The hint of the error table is for operators of a sync.
    case 'not_found': {
      const sources = tool.inPath.map((name) => `${name} from ${listerOf(catalogue, tool.resource, name).tool}`);
      return sources.length === 0 ? 'There is no such resource.' : `Take ${sources.join(', ')}.`;
    }
    case 'overloaded':
      return 'Try again in a few seconds.';
    default:
      return hint;
  }
}
