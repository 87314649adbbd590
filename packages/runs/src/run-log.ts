// The journal of a run as the conversation of its agent.
import type { AppendOptions, CallJournal, ConversationLog, Message, SavedMessages, ToolMessage } from 'pocket-agent';
import { eventOf, type NewEvent } from './events.ts';
import { inTransaction, lost, type RunStore, write } from './journal.ts';
import type { RunTable } from './schema.ts';

interface LogOptions {
  run: Pick<RunTable, 'id' | 'progress' | 'compacted'>;
  holder: string;
  /** Called when messages were saved. */
  saved(): void;
}

export class RunLog implements ConversationLog {
  readonly journal: CallJournal = {
    begin: (call) => this.#write([{ type: 'intent', data: call }]),
    end: (result) => this.#write([{ type: 'result', data: result }]),
  };
  readonly #store: RunStore;
  readonly #options: LogOptions;
  #isRead = false;
  #isFrozen = false;

  constructor(store: RunStore, options: LogOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** From now on nothing is saved: what is saved is what the run goes on from. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Only this agent adds messages, so the first read returns all of them. */
  async read(): Promise<SavedMessages> {
    if (this.#isRead) return { messages: [], replaces: false };
    this.#isRead = true;
    const { id, progress, compacted } = this.#options.run;
    const rows = await this.#store.db
      .selectFrom('pocket_run_journal')
      .selectAll()
      .where('run', '=', id)
      .where('type', 'in', ['message', 'reset', 'intent', 'result'])
      .orderBy('number')
      .execute();
    let messages: Message[] = [];
    let [begun, results]: [string[], ToolMessage[]] = [[], []];
    for (const { type, data } of rows.map(eventOf)) {
      if (type === 'intent') begun.push(data.id);
      else if (type === 'result') results.push(data);
      else [begun, results] = [[], []];
      if (type === 'message') messages.push(data);
      if (type === 'reset') messages = [];
    }
    return {
      messages,
      replaces: false,
      calls: { begun, results },
      ...(progress === null ? {} : { progress: JSON.parse(progress) }),
      ...(compacted === null ? {} : { compacted: JSON.parse(compacted) }),
    };
  }

  begin(): Promise<SavedMessages> {
    return this.read();
  }

  async append(messages: readonly Message[], { replaces, compacted, progress }: AppendOptions): Promise<void> {
    const events: NewEvent[] = messages.map((data) => ({ type: 'message', data }));
    await this.#write(replaces ? [{ type: 'reset', data: {} }, ...events] : events, {
      progress: progress ? JSON.stringify(progress) : null,
      ...(replaces || compacted ? { compacted: compacted ? JSON.stringify(compacted) : null } : {}),
    });
    this.#options.saved();
  }

  async end(): Promise<void> {}

  async #write(events: readonly NewEvent[], set: Partial<RunTable> = {}): Promise<void> {
    if (this.#isFrozen) return;
    const { run, holder } = this.#options;
    const isHeld = await inTransaction(this.#store, (db) =>
      write(db, { run: run.id, holder, events, set: { attempts: 0, ...set } }),
    );
    if (!isHeld) throw lost(run.id);
  }
}
