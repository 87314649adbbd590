// Progress notifications for a client that asked for them: one for each relevant event.
import type { ServerContext } from '@modelcontextprotocol/server';
import { redactSecrets } from '@pocket-agent/kit';
import type { AgentEvent } from '../run/events.ts';

/** `context` returns the request that is being served: a run may continue in a later request. */
export function progressReporter(context: () => ServerContext): ((event: AgentEvent) => void) | undefined {
  if (context().mcpReq._meta?.progressToken === undefined) return undefined;
  let progress = 0;
  return (event) => {
    const { notify, _meta: meta } = context().mcpReq;
    const progressToken = meta?.progressToken;
    const message = progressToken === undefined ? undefined : progressMessage(event);
    if (progressToken === undefined || message === undefined) return;
    const params = { progressToken, progress: ++progress, message };
    // a client that has gone away needs no progress; its call is cancelled by the transport
    notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function progressMessage({ type, data, meta }: AgentEvent): string | undefined {
  const who = meta.path.join(' → ');
  switch (type) {
    case 'tool_call':
      return `${who} calls ${data.toolName}`;
    case 'tool_progress':
      return `${who}: ${data.toolName} ${redactSecrets(data.message ?? `${data.progress}`)}`;
    case 'tool_result':
      return `${who}: ${data.toolName} ${data.isError ? 'failed' : 'done'}`;
    case 'step_finished':
      return `${who} finished a step`;
    default:
      return undefined;
  }
}
