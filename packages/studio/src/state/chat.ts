// One conversation of the page with a fork of one of its agents.
import { randomUUID } from 'node:crypto';
import { errorText, isPocketError } from '@pocket-agent/kit';
import {
  type Exposure,
  type LanguageModel,
  type Message,
  type PocketAgent,
  type ProfileName,
  profiles,
  type RunOptions,
  resolveModel,
} from 'pocket-agent';
import { SwitchableModel } from 'pocket-agent/internal';
import { ScriptedModel } from 'pocket-agent/testing';
import type { ChatInfo, SentFile } from '../wire/wire.ts';
import type { Journal } from './journal.ts';
import type { ModelCalls } from './model-calls.ts';
import type { Questions } from './questions.ts';
import type { SavedChats } from './saved-chats.ts';

/** Longer titles are cut. */
const TITLE_LENGTH = 80;
const FORM = { provider: 'pocket-agent', modelId: 'form' };
const ALL = { capabilities: profiles.admin };

export interface ChatOptions {
  /** The id of a saved conversation. */
  id?: string;
  agentName: string;
  agent: PocketAgent<unknown>;
  /** The messages that the conversation begins with. */
  messages?: readonly Message[] | undefined;
  title?: string;
  saved: SavedChats | undefined;
  journal: Journal;
  questions: Questions;
  modelCalls: ModelCalls;
}

interface Choices {
  model?: string;
  /** Empty: that of the agent. */
  profile?: ProfileName | '';
  exposure?: Exposure | '';
}

export class Chat {
  readonly id: string;
  readonly #options: ChatOptions;
  readonly #agent: PocketAgent<unknown>;
  /** Asks the model of the run in progress. */
  readonly #chatModel: SwitchableModel;
  readonly #createdAt = Date.now();
  #title: string;
  /** The model of the next messages. */
  #model: LanguageModel;
  #modelName: string;
  #profile: ProfileName | undefined;
  #exposure: Exposure | undefined;
  #run: { stop: AbortController; ended: Promise<void> } | undefined;

  /** Resolves the model, so the first message does not wait for it. */
  static async open(options: ChatOptions): Promise<Chat> {
    const chat = new Chat(options, await options.agent.languageModel());
    await options.saved?.attach(chat.id, chat.#agent, options.agentName);
    return chat;
  }

  private constructor(options: ChatOptions, model: Awaited<ReturnType<PocketAgent['languageModel']>>) {
    const { id = randomUUID(), agent, messages, title = '' } = options;
    this.id = id;
    this.#options = options;
    this.#title = title;
    this.#model = model;
    this.#chatModel = new SwitchableModel(model);
    this.#modelName = typeof agent.llmModel === 'string' ? agent.llmModel : `${model.provider}/${model.modelId}`;
    this.#agent = agent.fork({ llmModel: this.#chatModel, ...(messages ? { messages } : {}) });
  }

  get info(): ChatInfo {
    return {
      ...{ id: this.id, agent: this.#options.agentName, title: this.#title, model: this.#modelName },
      ...(this.#profile === undefined ? {} : { profile: this.#profile }),
      ...(this.#exposure === undefined ? {} : { exposure: this.#exposure }),
      ...{ createdAt: this.#createdAt, isRunning: this.#run !== undefined },
    };
  }

  get messages(): readonly Message[] {
    return this.#agent.messages;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** Begins a run; what happens in it goes to the journal. */
  send(text: string, files: readonly SentFile[] = []): void {
    if (this.#title === '') this.#title = (text || (files[0]?.name ?? '')).slice(0, TITLE_LENGTH);
    const profile = [
      ...(this.#profile === undefined ? [] : [this.#profile]),
      ...(this.#exposure === undefined ? [] : [{ ...ALL, exposure: this.#exposure }]),
    ];
    const narrowed = profile.length === 0 ? {} : { profile };
    const input = files.length === 0 ? text : { text, files };
    this.#begin(this.#model, (options) => this.#agent.run(input, { ...options, ...narrowed }));
  }

  /** Calls a tool as the model would: with the same rules, approval and audit. */
  callTool(name: string, args: Record<string, unknown>): void {
    if (this.#title === '') this.#title = name;
    const answers = [{ toolCalls: [{ name, arguments: args }] }, 'Called from the page Tools.'];
    const script = new ScriptedModel(answers, FORM); // it costs nothing, which budgets in dollars need to know
    this.#begin(script, (options) => this.#agent.run(`Call ${name}`, options));
  }

  stop(): void {
    this.#run?.stop.abort();
  }

  /** Sets options of the runs that begin after this. Throws for a name that no provider knows. */
  async choose({ model, profile, exposure }: Choices): Promise<void> {
    if (model !== undefined && model !== this.#modelName) {
      this.#model = await resolveModel(model);
      this.#modelName = model;
    }
    if (profile !== undefined) this.#profile = profile === '' ? undefined : profile;
    if (exposure !== undefined) this.#exposure = exposure === '' ? undefined : exposure;
    this.#changed();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#run?.ended;
    await this.#agent.close();
  }

  #begin(model: LanguageModel, work: (options: RunOptions) => Promise<unknown>): void {
    const { journal, questions, modelCalls } = this.#options;
    const stop = new AbortController();
    let hasFailed = false;
    this.#chatModel.current = model;
    const handlers: RunOptions = {
      signal: stop.signal,
      onEvent: (event) => {
        hasFailed ||= event.type === 'run_failed';
        journal.add({ type: 'event', chatId: this.id, event });
      },
      onModelCall: (report) => journal.add({ type: 'model_call', call: modelCalls.keep(this.id, report) }),
      approve: (request) => questions.approve(this.id, request),
      elicit: (params, from) => questions.elicit(this.id, params, from),
      streaming: true,
    };
    const ended = work(handlers)
      .catch((error: unknown) => {
        // a run that began has reported its failure
        if (!hasFailed && !isPocketError(error, 'ABORTED'))
          journal.add({ type: 'problem', chatId: this.id, text: errorText(error) });
      })
      .then(() => {
        this.#run = undefined;
        this.#changed();
      });
    this.#run = { stop, ended };
    this.#changed();
  }

  #changed(): void {
    this.#options.journal.add({ type: 'chat', chat: this.info });
  }
}
