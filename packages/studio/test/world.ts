// Agents for the tests of the studio, and a program that follows its stream.
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { onTestFinished } from 'vitest';
import { openStudio, type Studio, type StudioOptions } from '../src/index.ts';
import type { ChatInfo, Line, ModelCallDetails } from '../src/wire/wire.ts';

/** What the tool was called with. */
export interface Shop {
  agent: PocketAgent;
  refunds: unknown[];
}

export type Script = ConstructorParameters<typeof ScriptedModel>[0];

export function makeShop(script: Script, options: Partial<PocketAgentOptions> = {}): Shop {
  const refunds: unknown[] = [];
  const refund = tool({
    name: 'refund',
    description: 'Pays an order back',
    annotations: { destructiveHint: true },
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'integer', description: 'Number of the order' }, eur: { type: 'number' } },
      required: ['id'],
    },
    run: (args) => {
      refunds.push(args);
      return { refunded: args.id };
    },
  });
  const agent = new PocketAgent({
    name: 'shop',
    roleDescription: 'Answers questions about orders.',
    llmModel: new ScriptedModel(script),
    tools: [refund],
    access: { confirm: 'destructive' },
    ...options,
  });
  onTestFinished(() => agent.close());
  return { agent, refunds };
}

export const refundCall = {
  text: 'I will refund it.',
  toolCalls: [{ name: 'refund', arguments: { id: 17, eur: 40 } }],
};

export async function startStudio(
  agents: StudioOptions['agents'],
  options: Partial<StudioOptions> = {},
): Promise<Client> {
  const studio = await openStudio({ agents, ...options });
  const client = new Client(studio);
  onTestFinished(() => client.close());
  return client;
}

/** Talks to a studio as its page does. */
export class Client {
  readonly studio: Studio;
  readonly origin: string;
  readonly token: string;

  constructor(studio: Studio) {
    this.studio = studio;
    const { origin, hash } = new URL(studio.url);
    this.origin = origin;
    this.token = hash.slice('#token='.length);
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...init.headers };
    return fetch(new URL(path, this.origin), { ...init, headers });
  }

  async post<Value>(path: string, body: object): Promise<Value> {
    const response = await this.fetch(path, { method: 'POST', body: JSON.stringify(body) });
    const answer = (await response.json()) as Value & { error?: string };
    if (!response.ok) throw new Error(`${response.status} ${answer.error}`);
    return answer;
  }

  async chat(agent: string, text: string): Promise<ChatInfo> {
    const chat = await this.post<ChatInfo>('/api/chats', { agent });
    await this.post(`/api/chats/${chat.id}/messages`, { text });
    return chat;
  }

  /** Lines after a number, until one that `isLast`. */
  async lines(isLast: (line: Line) => boolean, after = 0): Promise<Line[]> {
    const lines: Line[] = [];
    for await (const line of this.follow(after)) {
      lines.push(line);
      if (isLast(line)) break;
    }
    return lines;
  }

  /** The first request to a model among lines, as it was sent. */
  async promptIn(lines: readonly Line[]): Promise<string> {
    const line = lines.find((each) => each.type === 'model_call');
    const id = line?.type === 'model_call' ? line.call.id : 'none';
    const call = (await (await this.fetch(`/api/calls/${encodeURIComponent(id)}`)).json()) as ModelCallDetails;
    return JSON.stringify(call.prompt);
  }

  async *follow(after = 0): AsyncGenerator<Line> {
    const { body } = await this.fetch(`/api/events?after=${after}`);
    if (!body) throw new Error('The stream has no body.');
    let rest = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const messages = (rest + chunk).split('\n\n');
      rest = messages.pop() ?? '';
      for (const message of messages)
        if (message.startsWith('data: ')) yield JSON.parse(message.slice('data: '.length)) as Line;
    }
  }

  async close(): Promise<void> {
    await this.studio.close();
  }
}

export function isEvent(type: string): (line: Line) => boolean {
  return (line) => line.type === 'event' && line.event.type === type;
}

export const isQuestion = (line: Line) => line.type === 'question';
export const hasEnded = (line: Line) => line.type === 'chat' && !line.chat.isRunning && line.chat.title !== '';
