// Events as lines for a console, for developers who want to watch an agent.

import { printable, printableJson, printableText, truncate } from '@pocket-agent/kit';
import type { Message } from '../base/messages.ts';
import type { AgentEvent } from './events.ts';

const MAX_CHARACTERS = 2_000;
const MAX_ARGUMENT_CHARACTERS = 500;

type Part = Message['content'][number];

/** Undefined for events that only repeat or announce a message. Nothing in the text can move the cursor. */
export function formatEvent(event: AgentEvent): string | undefined {
  const who = printable(event.meta.path.join(' → '));
  switch (event.type) {
    case 'new_message':
      return `${who} · ${event.data.role}\n${event.data.content.map((part) => indented(partText(part))).join('\n')}`;
    case 'run_failed':
      return `${who} · failed: ${printable(event.data.message, MAX_CHARACTERS)}`;
    case 'model_retry':
      return `${who} · asking the model again in ${Math.round(event.data.delayMs)} ms: ${printable(event.data.reason)}`;
    case 'compacted': {
      const { tokensBefore, tokensAfter } = event.data;
      return `${who} · prompt compacted from about ${tokensBefore} to ${tokensAfter} tokens`;
    }
    case 'server_status': {
      const { server, status, reason } = event.data;
      return `${who} · MCP server ${printable(server)} ${status}${reason ? `: ${printable(reason)}` : ''}`;
    }
    case 'server_log':
      return `${who} · ${printable(event.data.server)}: ${truncate(printableJson(event.data.data), MAX_CHARACTERS)}`;
    case 'tool_changed':
      return `${who} · tool ${printable(event.data.toolName)} has changed since it was first seen`;
    case 'tool_renamed':
      return `${who} · tool ${printable(event.data.ownName)} was renamed to ${printable(event.data.toolName)}`;
    case 'run_started':
    case 'run_finished':
    case 'step_started':
    case 'step_finished':
    case 'text_delta':
    case 'reasoning_delta':
    case 'output_delta':
    case 'tool_call':
    case 'tool_progress':
    case 'tool_result':
    case 'audit':
      return undefined;
    default:
      return `${who} · ${printable(event.type)} ${truncate(printableJson(event.data), MAX_CHARACTERS)}`;
  }
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return truncate(printableText(part.text), MAX_CHARACTERS);
    case 'reasoning':
      return `(${truncate(printableText(part.text), MAX_CHARACTERS)})`;
    case 'tool-call':
      return `→ ${printable(part.toolName)} ${truncate(printableJson(part.input), MAX_ARGUMENT_CHARACTERS)}`;
    case 'tool-result': {
      const { output } = part;
      const text = 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
      const mark = output.type.startsWith('error') ? '✗' : '←';
      return `${mark} ${printable(part.toolName)} ${truncate(printableText(text), MAX_CHARACTERS)}`;
    }
    case 'file':
      return `[${printable(part.mediaType)}]`;
    default:
      return `[${printable(part.type)}]`;
  }
}

function indented(text: string): string {
  return text.replace(/^/gm, '   ');
}
