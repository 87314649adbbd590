// The state of one studio: agents, chats, questions and model calls.
import { errorText, type Logger } from '@pocket-agent/kit';
import type { Runs } from '@pocket-agent/runs';
import type { Conversations } from '@pocket-agent/store';
import type { JudgedTool, Message, PocketAgent, Router } from 'pocket-agent';
import type { AgentInfo, ChatInfo, Replay, RouterInfo, SavedChat, ServerOffers, ToolList } from '../wire/wire.ts';
import { Attached, type AttachedProgram } from './attached-programs.ts';
import { Chat } from './chat.ts';
import { DurableRuns, type DurableSource } from './durable-runs.ts';
import { ForeignChats } from './foreign-chats.ts';
import { type AttachedGateway, Gateways } from './gateways.ts';
import { Journal } from './journal.ts';
import { type KeptCall, ModelCalls, toJson } from './model-calls.ts';
import { Questions } from './questions.ts';
import { Refusal } from './refusal.ts';
import { replay } from './replay.ts';
import { SavedChats } from './saved-chats.ts';
import { type WatchedConversation, type Watcher, watch } from './watched-chat.ts';

/** The oldest chats that are not running are closed beyond this. */
const MAX_CHATS = 500;
const ELSEWHERE = 'This conversation takes place in another program: answer there.';
const GONE = 'This chat does not exist any more. Start a new one.';

interface WorkspaceOptions {
  agents: ReadonlyMap<string, PocketAgent<unknown>>;
  conversations: Conversations | undefined;
  runs: Runs | undefined;
  gateways: readonly AttachedGateway[];
  attached: readonly AttachedProgram[];
  routers: ReadonlyMap<string, Router>;
  logger: Logger;
}

interface Beginning {
  id?: string;
  title?: string;
  messages?: readonly Message[] | undefined;
}

interface ReplayRequest {
  model: string | undefined;
  prompt: unknown;
  signal: AbortSignal;
}

export class Workspace {
  readonly journal = new Journal();
  readonly questions = new Questions(this.journal);
  /** Gateways elsewhere. */
  readonly gateways: Gateways | undefined;
  /** Runs in a database that other processes share. */
  readonly #durable: DurableRuns | undefined;
  readonly #modelCalls = new ModelCalls();
  readonly #agents: ReadonlyMap<string, PocketAgent<unknown>>;
  readonly #routers: ReadonlyMap<string, Router>;
  readonly #chats = new Map<string, Chat>();
  readonly #saved: SavedChats | undefined;
  readonly #foreign = new ForeignChats(this.journal);
  readonly #attached: readonly Attached[];
  /** Saved conversations that are being opened. */
  readonly #opening = new Map<string, Promise<Chat>>();

  constructor({ agents, conversations, runs, gateways, attached, routers, logger }: WorkspaceOptions) {
    this.#agents = agents;
    this.#routers = routers;
    this.#durable = runs && new DurableRuns(runs, this.questions, logger);
    this.gateways = gateways.length > 0 ? new Gateways(gateways, this.questions, logger) : undefined;
    const { journal, questions } = this;
    const parts = { journal, questions, chats: this.#foreign, logger };
    this.#attached = attached.map((program) => new Attached(program, parts));
    this.#saved = conversations && new SavedChats(conversations, [...agents.keys()]);
  }

  /** Begins to show what other processes ask. */
  start(): void {
    this.#durable?.start();
    this.gateways?.start();
    for (const program of this.#attached) void program.follow();
  }

  agents(): AgentInfo[] {
    return [...this.#agents].map(([name, { llmModel, roleDescription, budget }]) => ({
      name,
      budget,
      model: typeof llmModel === 'string' ? llmModel : `${llmModel.provider}/${llmModel.modelId}`,
      ...(roleDescription === undefined ? {} : { description: roleDescription }),
    }));
  }

  chats(): ChatInfo[] {
    return [...[...this.#chats.values()].map(({ info }) => info), ...this.#foreign.list()];
  }

  async savedChats(words: string): Promise<SavedChat[]> {
    return (await this.#saved?.list(words)) ?? [];
  }

  chat(id: string): Chat {
    const chat = this.#chats.get(id);
    if (!chat && this.#foreign.get(id)) throw new Refusal(409, ELSEWHERE);
    if (!chat) throw new Refusal(404, GONE);
    return chat;
  }

  /** A new conversation, or a branch of another: its first `count` messages. */
  async openChat(agentName: string, from?: { chatId: string; count: number }): Promise<Chat> {
    return this.#open(agentName, { messages: from && this.chat(from.chatId).messages.slice(0, from.count) });
  }

  /** Opens a chat of a saved conversation. */
  async reopenChat(id: string): Promise<Chat> {
    const open = this.#chats.get(id) ?? this.#opening.get(id);
    if (open) return open;
    const opening = this.#reopen(id).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  async deleteChat(id: string): Promise<void> {
    const isOpen = this.#chats.has(id);
    if (isOpen) await this.#closeChat(this.chat(id));
    if (!(await this.#saved?.delete(id)) && !isOpen) throw new Refusal(404, GONE);
  }

  async tools(agentName: string, signal: AbortSignal): Promise<ToolList> {
    const agent = this.agent(agentName);
    const shown = ({ name, capability, tool }: JudgedTool, hiddenBy?: string) => ({
      ...{ name, capability, description: tool.description, hiddenBy },
      ...{ inputSchema: tool.inputSchema, outputSchema: tool.outputSchema },
      ...{ group: agent.mcpClient.group(tool)?.name, exposure: agent.mcpClient.exposure(tool) },
    });
    const visible = (await agent.listTools(signal)).map((tool) => shown(tool));
    const hidden = (await agent.listHiddenTools(signal)).map((tool) => shown(tool, tool.reason));
    const servers = [...agent.mcpClient.status].map(([name, { status, reason }]) => ({ name, status, reason }));
    return { tools: [...visible, ...hidden], servers };
  }

  /** Shows a conversation of this program. */
  watch(conversation: WatchedConversation): Watcher {
    const { journal, questions } = this;
    return watch(conversation, { journal, questions, chats: this.#foreign, modelCalls: this.#modelCalls });
  }

  /** Where durable runs can be seen. */
  get durableSources(): DurableSource[] {
    return [...(this.#durable ? [this.#durable] : []), ...this.#attached.filter((program) => program.hasDurableRuns)];
  }

  get hasRouters(): boolean {
    return this.#routers.size > 0;
  }

  routers(): Promise<RouterInfo[]> {
    return Promise.all([...this.#routers].map(async ([name, router]) => ({ name, status: await router.status() })));
  }

  /** Resources and prompts of the servers of an agent. */
  async offers(agentName: string): Promise<ServerOffers> {
    const { mcpClient } = this.agent(agentName);
    const found: ServerOffers = { resources: [], prompts: [], problems: [] };
    const ask = async (work: () => Promise<void>) =>
      work().catch((error: unknown) => void found.problems.push(errorText(error)));
    await ask(async () => {
      for (const { server, uri, name, description } of await mcpClient.listResources())
        found.resources.push({ server, uri, name, description });
    });
    await ask(async () => {
      for (const { server, name, description, arguments: fields = [] } of await mcpClient.listPrompts())
        found.prompts.push({ server, name, description, arguments: fields });
    });
    return found;
  }

  /** A request to a model, whole, as JSON. */
  async modelCall(id: string): Promise<string> {
    const program = this.#programOf(id);
    return program ? program.modelCall(id) : toJson(this.#keptCall(id).details);
  }

  /** Another answer to a request that is kept. */
  async replay(id: string, { model, prompt, signal }: ReplayRequest): Promise<Replay> {
    const program = this.#programOf(id);
    if (program) return program.replay(id, { model, prompt }, signal);
    const { details, model: asked } = this.#keptCall(id);
    return replay({ call: details, model: model ?? asked, prompt, signal });
  }

  agent(name: string): PocketAgent<unknown> {
    const agent = this.#agents.get(name);
    if (!agent) throw new Refusal(404, `There is no agent "${name}".`);
    return agent;
  }

  async close(): Promise<void> {
    this.#durable?.close();
    this.gateways?.close();
    for (const program of this.#attached) program.close();
    await Promise.all([...this.#chats.values()].map((chat) => chat.close()));
    this.#chats.clear();
  }

  /** The attached program that has a conversation or a request. */
  #programOf(id: string): Attached | undefined {
    return this.#attached.find((program) => program.has(id));
  }

  #keptCall(id: string): KeptCall {
    const call = this.#modelCalls.get(id);
    if (!call) throw new Refusal(404, 'This request is no longer kept.');
    return call;
  }

  async #reopen(id: string): Promise<Chat> {
    const found = await this.#saved?.find(id);
    if (!found) throw new Refusal(404, GONE);
    return this.#open(found.agent, { id, title: found.title });
  }

  async #open(agentName: string, { id, title, messages }: Beginning): Promise<Chat> {
    const chat = await Chat.open({
      ...(id === undefined ? {} : { id }),
      ...(title === undefined ? {} : { title }),
      agentName,
      agent: this.agent(agentName),
      messages,
      saved: this.#saved,
      journal: this.journal,
      questions: this.questions,
      modelCalls: this.#modelCalls,
    });
    this.#chats.set(chat.id, chat);
    this.journal.add({ type: 'chat', chat: chat.info });
    if (chat.messages.length > 0) this.journal.add({ type: 'history', chatId: chat.id, messages: chat.messages });
    const idle = [...this.#chats.values()].filter((each) => !each.isRunning);
    if (this.#chats.size > MAX_CHATS && idle[0]) await this.#closeChat(idle[0]);
    return chat;
  }

  async #closeChat(chat: Chat): Promise<void> {
    this.#chats.delete(chat.id);
    this.journal.add({ type: 'chat_closed', chatId: chat.id });
    await chat.close();
  }
}
