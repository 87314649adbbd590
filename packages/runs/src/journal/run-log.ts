// The journal of a run as the conversation of its agent, and of its sub-agents. The write of messages waits until the process has
// nothing else to do, so that the intent of a call, or the end of the run, can join it.
import type {
  AppendOptions,
  CallJournal,
  ConversationLog,
  JournaledInnerCall,
  Message,
  SavedMessages,
  ToolMessage,
} from 'pocket-agent';
import { earlierMessages } from './conversations.ts';
import { type EndEvent, eventOf, type NewEvent, type RunEvent } from './events.ts';
import type { HeldChange, HeldWrites } from './held-writes.ts';
import { type Database, inTransaction, type JournalEvent, lost, type RunStore } from './journal.ts';
import type { RunTable } from './schema.ts';
import { SubAgents } from './sub-agents.ts';

interface LogOptions {
  store: RunStore;
  writes: HeldWrites;
  run: RunTable;
  holder: string;
  /** Called when the database cannot be used, or another process holds the run. */
  failed(error: unknown): void;
  /** Whether the run is to stop in this process when messages of its agent were saved. */
  isLeaving(): boolean;
  /** Called when messages of the agent were saved, and no call has begun since. */
  saved(): void;
}

/** What is written at once. */
interface Batch {
  events: JournalEvent[];
  set: HeldChange;
  /** Whether the agent of the run has added messages. */
  hasMessages: boolean;
  /** Nothing more is expected for it. */
  hurry(): void;
  /** In the same transaction. */
  afterwards?: ((db: Database) => Promise<void>) | undefined;
  written: Promise<void>;
}

/** Without heartbeats for 15 seconds, a process loses its runs. Its last one may be half of that old. */
const LATE_MS = 5_000;
const READ_TYPES = ['message', 'reset', 'intent', 'result', 'inner'] as const;

/** What one process writes about a run. */
export class RunLog {
  /** The conversation that the agent of the run continues. */
  readonly conversation: ConversationLog;
  readonly #options: LogOptions;
  readonly #subAgents: SubAgents;
  #events: Promise<RunEvent[]> | undefined;
  #isFrozen = false;
  /** The newest write. Writes are made one after the other, because the state of all sub-agents is one value; none after a failure. */
  #writing: Promise<void> = Promise.resolve();
  /** The write of the newest answer. */
  #answered: Promise<void> = Promise.resolve();
  /** What the next write contains. */
  #next: Batch | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#subAgents = new SubAgents(options.run.sub_agents);
    this.conversation = this.#conversationOf('');
  }

  /** Saves nothing more: the run continues later from the saved state. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Resolves when everything is saved that was written so far. */
  ready(): Promise<void> {
    return this.#writing;
  }

  /** Adds the last event. False if the process stopped the run first. `afterwards`: in the same transaction. */
  async end(event: EndEvent, afterwards?: Batch['afterwards']): Promise<boolean> {
    if (this.#isFrozen) return false;
    const batch = this.#batch();
    batch.afterwards = afterwards;
    await this.#write('', [event], { status: event.type });
    return !this.#isFrozen;
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
      const saved = this.#saved(path);
      saved.catch((error) => this.#options.failed(error));
      return { ...(await saved), ...madeFor };
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
      begin: async (data) => {
        // the answer alone is saved when the run stops here: the call is not made
        if (this.#options.isLeaving()) await this.ready();
        await save({ type: 'intent', data });
      },
      ready: () => this.#answered,
      end: (data) => save({ type: 'result', data }),
      inner: (data) => save({ type: 'inner', data }),
      subAgent: (name) => this.#conversationOf([...(path ? [path] : []), name.replaceAll('/', '%2F')].join('/')),
    };
  }

  #read(): Promise<RunEvent[]> {
    this.#events ??= this.#readEvents();
    return this.#events;
  }

  async #readEvents(): Promise<RunEvent[]> {
    const { run, store } = this.#options;
    if (run.length === 1) return []; // it has only started
    const rows = await store.db
      .selectFrom('pocket_run_journal')
      .selectAll()
      .where('run', '=', run.id)
      .where('type', 'in', READ_TYPES)
      .orderBy('number')
      .execute();
    return rows.map(eventOf);
  }

  async #saved(path: string): Promise<SavedMessages> {
    const { run, store } = this.#options;
    const isAgent = path === '';
    const earlier = isAgent ? await earlierMessages(store.db, run) : undefined;
    let messages: Message[] = earlier?.messages ?? [];
    // of the calls since the last message: a message that follows calls has their results
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
    const compacted = isAgent ? parsed(run.compacted ?? earlier?.compacted) : own.compacted;
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
    const hasChanged = this.#subAgents.endStep(path);
    if (path !== '') this.#subAgents.appended(path, options);
    const sub_agents = hasChanged || path !== '' ? { sub_agents: this.#subAgents.json } : {};
    const own = {
      ...(progress ? { progress: JSON.stringify(progress) } : {}),
      // `null` as JSON: what earlier runs had compacted is not of these messages
      ...(replaces || compacted ? { compacted: JSON.stringify(compacted ?? null) } : {}),
    };
    if (path === '') this.#batch().hasMessages = true;
    const written = this.#write(path, events, { ...(path === '' ? own : {}), ...sub_agents });
    const last = messages.at(-1)?.role;
    if (last === 'assistant') this.#answered = written;
    // the model is asked while results are saved; calls, questions and the end of the run wait
    if (last === 'user' || this.#options.isLeaving()) await written;
  }

  /** Resolves when it is saved. */
  #write(path: string, events: readonly NewEvent[], set: HeldChange = {}): Promise<void> {
    const batch = this.#batch();
    for (const event of events) batch.events.push(path === '' ? event : { ...event, subAgent: path });
    if (events.some(({ type }) => type !== 'message')) batch.hurry();
    Object.assign(batch.set, set);
    return batch.written;
  }

  #batch(): Batch {
    if (this.#next) return this.#next;
    const { promise: hurried, resolve: hurry } = Promise.withResolvers<void>();
    const due = this.#writing.then(() => Promise.race([hurried, afterDuePromises()]));
    const written = due.then(() => this.#writeNow(batch));
    const batch: Batch = { events: [], set: {}, hasMessages: false, hurry, written };
    written.catch((error) => this.#options.failed(error));
    this.#writing = written;
    this.#next = batch;
    return batch;
  }

  async #writeNow({ events, set, hasMessages, afterwards }: Batch): Promise<void> {
    this.#next = undefined;
    if (this.#isFrozen) return;
    const { run, holder, store, writes, saved } = this.#options;
    const change = { run: run.id, holder, events, set };
    const begunAt = Date.now();
    const isHeld = afterwards
      ? await inTransaction(store.db, async (transaction) => {
          if (!(await writes.write(change, transaction))) return false;
          await afterwards(transaction);
          return true;
        })
      : await writes.write(change);
    const isCalling = events.some(({ type }) => type === 'intent' || type === 'inner');
    // a process that was suspended reads that it holds the run when it has lost it since
    const isLate = isCalling && Date.now() - begunAt > LATE_MS;
    if (!isHeld || (isLate && !(await writes.write({ ...change, events: [], set: {} })))) throw lost(run.id);
    if (hasMessages && !isCalling && !this.#next) saved();
  }
}

/** Resolves after all promises that are due: when everything in this process waits for something. */
function afterDuePromises(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

function parsed(json: string | null | undefined) {
  return typeof json === 'string' ? JSON.parse(json) : undefined;
}
