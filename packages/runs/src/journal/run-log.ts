// The journal of a run as the conversation of its agent, and of its sub-agents.
import type {
  AppendOptions,
  CallJournal,
  ConversationLog,
  JournaledInnerCall,
  Message,
  SavedMessages,
  ToolMessage,
} from 'pocket-agent';
import { eventOf, type NewEvent, type RunEvent } from './events.ts';
import { inTransaction, lost, type RunStore, write } from './journal.ts';
import type { RunTable } from './schema.ts';
import { SubAgents } from './sub-agents.ts';

interface LogOptions {
  run: Pick<RunTable, 'id' | 'progress' | 'compacted' | 'sub_agents'>;
  holder: string;
  /** Messages of earlier runs of the conversation. */
  earlier: readonly Message[];
  /** Called when the database cannot be used, or another process holds the run. */
  failed(error: unknown): void;
  /** Called when messages of the agent were saved. */
  saved(): void;
}

const READ_TYPES = ['message', 'reset', 'intent', 'result', 'inner'] as const;

/** What one process writes about a run. */
export class RunLog {
  /** The conversation that the agent of the run continues. */
  readonly conversation: ConversationLog;
  readonly #store: RunStore;
  readonly #options: LogOptions;
  readonly #subAgents: SubAgents;
  #events: Promise<RunEvent[]> | undefined;
  #isFrozen = false;
  /** One write at a time, because the state of all sub-agents is one value. */
  #writing: Promise<void> = Promise.resolve();

  constructor(store: RunStore, options: LogOptions) {
    this.#store = store;
    this.#options = options;
    this.#subAgents = new SubAgents(options.run.sub_agents);
    this.conversation = this.#conversationOf('');
  }

  /** Saves nothing more: the run continues later from the saved state. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Whether the agent has begun to work on the input. */
  async hasBegun(): Promise<boolean> {
    return (await this.#read()).some(({ subAgent, type }) => subAgent === undefined && type === 'message');
  }

  /** `path`: the names of the sub-agents down to this one; empty for the agent of the run. */
  #conversationOf(path: string): ConversationLog {
    let isRead = false;
    // only this agent adds messages, so the first read returns all of them
    const read = async (): Promise<SavedMessages> => {
      const madeFor = path === '' ? {} : { madeFor: this.#subAgents.of(path).madeFor };
      if (isRead) return { messages: [], replaces: false, ...madeFor };
      isRead = true;
      return { ...(await this.#saved(path)), ...madeFor };
    };
    return {
      read,
      begin: read,
      append: (messages, options) => this.#append(path, messages, options),
      end: async () => {},
      journal: this.#journalOf(path),
    };
  }

  #journalOf(path: string): CallJournal {
    const save = (event: NewEvent) => this.#write(path, [event]);
    return {
      begin: (data) => save({ type: 'intent', data }),
      end: (data) => save({ type: 'result', data }),
      inner: (data) => save({ type: 'inner', data }),
      subAgent: (name) => this.#conversationOf([...(path ? [path] : []), name.replaceAll('/', '%2F')].join('/')),
    };
  }

  #read(): Promise<RunEvent[]> {
    this.#events ??= this.#store.db
      .selectFrom('pocket_run_journal')
      .selectAll()
      .where('run', '=', this.#options.run.id)
      .where('type', 'in', READ_TYPES)
      .orderBy('number')
      .execute()
      .then((rows) => rows.map(eventOf));
    return this.#events;
  }

  async #saved(path: string): Promise<SavedMessages> {
    const { earlier, run } = this.#options;
    const isAgent = path === '';
    let messages: Message[] = isAgent ? [...earlier] : [];
    let [begun, results, inner]: [string[], ToolMessage[], JournaledInnerCall[]] = [[], [], []];
    for (const { subAgent = '', type, data } of await this.#read()) {
      if (subAgent !== path) continue;
      if (type === 'intent') begun.push(data.id);
      else if (type === 'result') results.push(data);
      else if (type === 'inner') inner.push(data);
      else [begun, results, inner] = [[], [], []];
      if (type === 'message') messages.push(data);
      if (type === 'reset') messages = [...(data.messages ?? [])];
    }
    const own = this.#subAgents.of(path);
    const progress = isAgent ? parsed(run.progress) : own.progress;
    const compacted = isAgent ? parsed(run.compacted) : own.compacted;
    return {
      messages,
      replaces: false,
      calls: { begun, results, inner, used: this.#subAgents.usedBelow(path) },
      ...(progress ? { progress } : {}),
      ...(compacted ? { compacted } : {}),
    };
  }

  async #append(path: string, messages: readonly Message[], options: AppendOptions): Promise<void> {
    const { replaces, compacted, progress } = options;
    const events: NewEvent[] = messages.map((data) => ({ type: 'message', data }));
    if (replaces) events.unshift({ type: 'reset', data: {} });
    const hasEnded = this.#subAgents.stepEnded(path);
    if (path !== '') this.#subAgents.appended(path, options);
    const sub_agents = hasEnded || path !== '' ? { sub_agents: this.#subAgents.json } : {};
    const own = {
      progress: progress ? JSON.stringify(progress) : null,
      ...(replaces || compacted ? { compacted: compacted ? JSON.stringify(compacted) : null } : {}),
    };
    await this.#write(path, events, { ...(path === '' ? own : {}), ...sub_agents });
    if (path === '') this.#options.saved();
  }

  #write(path: string, events: readonly NewEvent[], set: Partial<RunTable> = {}): Promise<void> {
    const write = () => this.#writeNow(path, events, set);
    this.#writing = this.#writing.then(write, write);
    this.#writing.catch((error) => this.#options.failed(error));
    return this.#writing;
  }

  async #writeNow(path: string, events: readonly NewEvent[], set: Partial<RunTable>): Promise<void> {
    if (this.#isFrozen) return;
    const { run, holder } = this.#options;
    const subAgent = path === '' ? {} : { subAgent: path };
    const isHeld = await inTransaction(this.#store, (db) =>
      write(db, { run: run.id, holder, events, ...subAgent, set: { attempts: 0, ...set } }),
    );
    if (!isHeld) throw lost(run.id);
  }
}

function parsed(json: string | null) {
  return json === null ? undefined : JSON.parse(json);
}
