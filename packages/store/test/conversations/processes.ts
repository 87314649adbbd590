// Starts writers in processes of their own, and checks what they left in a conversation.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Message } from 'pocket-agent';
import { expect } from 'vitest';
import type { Conversations } from '../../src/index.ts';
import type { WriterOptions } from './writer.ts';

export interface Writer {
  child: ChildProcess;
  /** The lines it printed. */
  lines: string[];
  /** Resolves when it has printed the line. */
  printed(line: string): Promise<void>;
  ended: Promise<unknown>;
}

const program = fileURLToPath(new URL('writer.ts', import.meta.url));

export function startWriter(options: WriterOptions): Writer {
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', program, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const output = createInterface(child.stdout).on('line', (line) => void lines.push(line));
  const printed = async (line: string) => {
    while (!lines.includes(line)) await once(output, 'line');
  };
  return { child, lines, printed, ended: once(child, 'close') };
}

/** Every run is whole and in one piece; only the last one of a process that was killed may lack its end. */
export async function expectWholeRuns(chats: Conversations, id: string): Promise<string[]> {
  const saved = await chats.export<Message>(id);
  const questions: string[] = [];
  const { messages = [] } = saved ?? {};
  for (let index = 0; index < messages.length; ) {
    const question = textAt(messages, index++);
    expect(question).toMatch(/^\w+ question \d+$/);
    questions.push(question);
    if (messages[index]?.role !== 'assistant') continue; // killed after the question
    expect(messages[index]?.content.map(({ type }) => type)).toEqual(['tool-call', 'tool-call']);
    expect(messages.slice(index + 1, index + 3).map(({ role }) => role)).toEqual(['tool', 'tool']);
    index += 3;
    if (messages[index]?.role !== 'assistant') continue; // killed after the tool calls
    expect(textAt(messages, index++)).toBe(question.replace('question', 'answer'));
  }
  expect(new Set(questions).size).toBe(questions.length);
  return questions;
}

function textAt(messages: readonly Message[], index: number): string {
  const [part] = messages[index]?.content ?? [];
  return part?.type === 'text' ? part.text : `a part of type ${part?.type}`;
}
