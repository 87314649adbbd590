// Reads a prompt: the last request of the user, the tool results since then, and the size of everything.
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { FIND_TOOLS, LOAD_SKILL } from '../base/tool-names.ts';
import { shortened } from './words.ts';

export const NOTICE = '(demo model: rules, not an LLM)';
const MAX_RESULT = 2_000;

type Part = Exclude<LanguageModelV4Message['content'], string>[number];
/** `found`: what `find_tools` returned for the request; undefined if it was not called. */
type Conversation = { request: string; results: string[]; found?: string; characters: number };

export function readConversation(prompt: LanguageModelV4Prompt): Conversation {
  let conversation: Conversation = { request: '', results: [], characters: 0 };
  for (const { role, content } of prompt) {
    const parts: Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    conversation.characters += parts.reduce((sum, part) => sum + textOf(part).length, 0);
    const request = role === 'user' ? withoutQuotedMessages(parts.map(textOf).join('\n')) : '';
    if (request) conversation = { request, results: [], characters: conversation.characters };
    for (const part of parts) {
      if (part.type !== 'tool-result') continue;
      if (part.toolName === FIND_TOOLS) conversation.found = `${conversation.found ?? ''}${resultText(part.output)}\n`;
      else conversation.results.push(resultSentence(part));
    }
  }
  return conversation;
}

function textOf(part: Part): string {
  if (part.type === 'text') return part.text;
  if (part.type === 'tool-call') return JSON.stringify(part.input);
  return part.type === 'tool-result' ? resultText(part.output) : '';
}

/** The bots quote messages of other people and mark who speaks with tags. Neither is part of the request. */
function withoutQuotedMessages(text: string): string {
  const pieces = text.replace(/^Said before:\n.*\n\nNow:\n/s, '').split('</untrusted>');
  const own = pieces.map((piece) => piece.replace(/<untrusted\b.*/s, '')).join('');
  return own.replace(/<\/?[a-z][^<>]*>/gi, ' ').trim();
}

function resultSentence({ toolName, output }: LanguageModelV4ToolResultPart): string {
  const text = shortened(resultText(output), MAX_RESULT);
  if (output.type === 'execution-denied') return `The tool ${toolName} was not allowed: ${text}`;
  if (output.type.startsWith('error')) return `The tool ${toolName} failed: ${text}`;
  return toolName === LOAD_SKILL ? `A real model would now follow these instructions:\n${text}` : text;
}

function resultText(output: LanguageModelV4ToolResultPart['output']): string {
  if (output.type === 'execution-denied') return output.reason ?? 'no reason given';
  if (output.type === 'json' || output.type === 'error-json') return readable(JSON.stringify(output.value));
  if (output.type !== 'content') return readable(output.value);
  return output.value.map((item) => (item.type === 'text' ? readable(item.text) : `[${item.type}]`)).join('\n');
}

/** Writes a JSON object as "key: value". Drops JSON that repeats the text before it, and the notice of a sub-agent. */
function readable(text: string): string {
  const lines = text.split('\n').filter((line) => line !== NOTICE);
  if (lines.length > 1 && !text.startsWith('{') && /^\{.*\}$/.test(lines.at(-1) ?? '')) lines.pop();
  const plain = lines.join('\n').trim();
  if (!plain.startsWith('{')) return plain;
  try {
    const entries = Object.entries(JSON.parse(plain));
    return entries.map(([key, item]) => `${key}: ${typeof item === 'string' ? item : JSON.stringify(item)}`).join(', ');
  } catch {
    return plain;
  }
}
