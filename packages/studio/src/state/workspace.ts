// The state of one studio: agents, chats, questions and model calls.
import type { PocketAgent } from 'pocket-agent';
import type { AgentInfo, ChatInfo, ToolList } from '../wire.ts';
import { Chat } from './chat.ts';
import { Journal } from './journal.ts';
import { ModelCalls } from './model-calls.ts';
import { Questions } from './questions.ts';
import { infoOf } from './watched-model.ts';

/** The oldest chats that are not running are closed beyond this. */
const MAX_CHATS = 500;

/** A request that cannot be fulfilled, with its HTTP status. */
export class Refusal extends Error {
  readonly status: 400 | 404 | 409;

  constructor(status: Refusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

export class Workspace {
  readonly journal = new Journal();
  readonly questions = new Questions(this.journal);
  readonly modelCalls = new ModelCalls();
  readonly #agents: ReadonlyMap<string, PocketAgent<unknown>>;
  readonly #chats = new Map<string, Chat>();

  constructor(agents: ReadonlyMap<string, PocketAgent<unknown>>) {
    this.#agents = agents;
  }

  agents(): AgentInfo[] {
    return [...this.#agents].map(([name, { llmModel, roleDescription }]) => ({
      name,
      model: typeof llmModel === 'string' ? llmModel : `${llmModel.provider}/${llmModel.modelId}`,
      ...(roleDescription === undefined ? {} : { description: roleDescription }),
    }));
  }

  chats(): ChatInfo[] {
    return [...this.#chats.values()].map(({ info }) => info);
  }

  chat(id: string): Chat {
    const chat = this.#chats.get(id);
    if (!chat) throw new Refusal(404, 'This chat does not exist any more. Start a new one.');
    return chat;
  }

  /** A new conversation, or a branch of another: its first `count` messages. */
  async openChat(agentName: string, from?: { chatId: string; count: number }): Promise<Chat> {
    const messages = from && this.chat(from.chatId).messages.slice(0, from.count);
    const chat = await Chat.open({
      agentName,
      agent: this.agent(agentName),
      messages,
      journal: this.journal,
      questions: this.questions,
      onModelCall: (call) => {
        this.modelCalls.keep(call);
        this.journal.add({ type: 'model_call', call: infoOf(call) });
      },
    });
    this.#chats.set(chat.id, chat);
    this.journal.add({ type: 'chat', chat: chat.info });
    if (messages) this.journal.add({ type: 'history', chatId: chat.id, messages });
    const idle = [...this.#chats.values()].filter(({ isRunning }) => !isRunning);
    if (this.#chats.size > MAX_CHATS && idle[0]) await this.deleteChat(idle[0].id);
    return chat;
  }

  async deleteChat(id: string): Promise<void> {
    const chat = this.chat(id);
    this.#chats.delete(id);
    this.journal.add({ type: 'chat_deleted', chatId: id });
    await chat.close();
  }

  async tools(agentName: string, signal: AbortSignal): Promise<ToolList> {
    const agent = this.agent(agentName);
    const tools = (await agent.listTools(signal)).map(
      ({ name, capability, tool: { description, inputSchema, outputSchema } }) => ({
        name,
        capability,
        description,
        inputSchema,
        outputSchema,
      }),
    );
    const servers = [...agent.mcpClient.status].map(([name, { status, reason }]) => ({ name, status, reason }));
    return { tools, servers };
  }

  agent(name: string): PocketAgent<unknown> {
    const agent = this.#agents.get(name);
    if (!agent) throw new Refusal(404, `There is no agent "${name}".`);
    return agent;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#chats.values()].map((chat) => chat.close()));
    this.#chats.clear();
  }
}
