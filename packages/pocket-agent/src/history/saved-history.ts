// Synchronises the history of an agent with its saved conversation: reads what other processes saved when a run begins, and
// saves new messages after each step. A tool call is saved together with its result; with a journal, before it runs.
import { errorText, type Logger, snapshot } from '@pocket-agent/kit';
import { answeredLength, openCalls, withEveryCallAnswered, withOpenEnd } from '../base/history-repair.ts';
import { copyMessage, type Message } from '../base/messages.ts';
import { outcomeUnknown } from '../base/tool-call.ts';
import { type CompactedHistory, compactedLength } from '../compaction/history-view.ts';
import type { ResultLimits, ResultStore } from '../compaction/result-pages.ts';
import type { StepJournal } from '../tools/step-calls.ts';
import type { CallJournal, ConversationLog, RunProgress, SavedMessages } from './conversation-log.ts';
import type { History } from './history.ts';
import type { AgentMemory } from './memory-tools.ts';
import { OpenAnswer } from './open-answer.ts';

/** The view of the model, which may be compacted. */
interface View {
  readonly compacted: CompactedHistory | undefined;
  resumeCompaction(compacted: CompactedHistory): void;
}

interface Beginning {
  isResumed: boolean;
  madeFor: string | undefined;
}

interface SavedHistoryOptions {
  history: History;
  view: View;
  log: ConversationLog;
  logger: Logger;
}

export class SavedHistory {
  readonly #history: History;
  readonly #log: ConversationLog;
  readonly #logger: Logger;
  readonly #view: View;
  /** The state of the view that is saved. */
  #compacted: CompactedHistory | undefined;
  /** The first messages of the history, which are saved. */
  #saved = 0;
  /** With a journal: the last saved message, if its calls are not all answered. */
  #open: OpenAnswer | undefined;
  #progress: RunProgress | undefined;
  /** The calls of its parent that a sub-agent has begun to answer in the step in progress; undefined for other agents. */
  #madeFor: readonly string[] | undefined;
  /** The one that it answers now. */
  #call: string | undefined;
  #continues = false;
  /** Messages that the agent was created with. They begin a new conversation, and are dropped if it is not new. */
  #initial: number;
  /** The history was reset; the next save replaces the conversation. */
  #replaces = false;
  #knownResets: number;
  /** Whether a run is between `begin` and `end`. */
  #isHeld = false;
  #saving: Promise<void> = Promise.resolve();

  constructor({ history, view, log, logger }: SavedHistoryOptions) {
    this.#history = history;
    this.#view = view;
    this.#log = log;
    this.#logger = logger;
    this.#initial = history.length;
    this.#knownResets = history.resets;
  }

  get memory(): AgentMemory | undefined {
    return this.#log.memory;
  }

  /** Whether another process may continue a run. That of a sub-agent only for a call that is made again. */
  get hasJournal(): boolean {
    return this.#log.journal !== undefined && (this.#madeFor === undefined || this.#call !== undefined);
  }

  /** Whether the current run continues from the history. */
  get continues(): boolean {
    return this.#continues;
  }

  get journal(): CallJournal | undefined {
    return this.#log.journal;
  }

  /** With a journal: the progress of the last run. */
  get progress(): RunProgress | undefined {
    return this.#progress;
  }

  /** The answer in a message, if it has open calls. */
  openAnswer(message: Message): OpenAnswer | undefined {
    return this.#open?.message === message ? this.#open : undefined;
  }

  journalOf(message: Message): StepJournal | undefined {
    const { journal } = this.#log;
    return journal && this.hasJournal ? this.openAnswer(message)?.journal(journal) : undefined;
  }

  /** Where large tool results are kept; undefined if the log does not keep them. */
  results(limits: ResultLimits): ResultStore | undefined {
    return this.#log.results?.(limits);
  }

  /** Reads the conversation for the first time. */
  async read(): Promise<void> {
    const read = await this.#log.read();
    this.#take(read);
    this.#resumeCompaction(read);
  }

  /**
   * Called before a run: waits until no other run holds the conversation. Only a resumed run makes open calls. `madeFor`: a
   * call of the parent agent, whose run is resumed if it has begun.
   */
  async begin(signal: AbortSignal, { isResumed, madeFor }: Beginning): Promise<void> {
    const read = await this.#log.begin(signal);
    this.#isHeld = true;
    this.#call = madeFor;
    this.#take(read);
    const continues = isResumed || (madeFor !== undefined && this.#madeFor?.at(-1) === madeFor);
    // a later call of the same step has taken its turn
    if (!continues && madeFor !== undefined && this.#madeFor?.includes(madeFor))
      throw outcomeUnknown('The process ended while the agent worked on this');
    this.#continues = continues;
    if (!continues) this.#progress = undefined;
    const isAtEnd = this.#history.length === this.#saved;
    if (this.#open && !(continues && isAtEnd)) this.#closeAnswer(this.#open);
    // calls that the program added without results would keep all later messages from being saved
    const added = this.#unsaved();
    if (!continues && answeredLength(added) < added.length)
      this.#replaceUnsaved(withEveryCallAnswered(added).map(snapshot));
    this.#resumeCompaction(read);
  }

  /** Saves the new messages. Without a journal not those of a step whose tools still run. */
  save(progress?: RunProgress): Promise<void> {
    if (progress) this.#progress = progress;
    this.#saving = this.#saving.then(
      () => this.#saveNow(),
      () => this.#saveNow(),
    );
    return this.#saving;
  }

  /** Saves the new messages, and resolves when a journal that saves later has saved everything. */
  async saveAll(): Promise<void> {
    await this.save();
    await this.#log.journal?.ready?.();
  }

  /** Called after a run. Messages that cannot be saved are dropped, so that history and conversation agree. */
  async end(): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    try {
      await this.save();
    } catch (error) {
      const dropped = this.#history.length - this.#saved;
      this.#logger.warn(`${dropped} messages were dropped because they could not be saved: ${errorText(error)}`);
      this.#replace(this.#saved, dropped, []);
    }
    try {
      await this.#log.end();
    } catch (error) {
      this.#logger.warn(`A conversation was not released: ${errorText(error)}`);
    }
  }

  async #saveNow(): Promise<void> {
    this.#noteReset();
    const unsaved = this.#unsaved();
    const answered = answeredLength(unsaved);
    // the answer with the first open calls
    const length = this.hasJournal && answered < unsaved.length ? answered + 1 : answered;
    const messages = unsaved.slice(this.#open ? 1 : 0, length);
    const replaces = this.#replaces;
    const compacted = this.#newlyCompacted(this.#saved + messages.length);
    if (messages.length === 0 && !replaces && !compacted) return;
    const progress = this.hasJournal ? this.#progress : undefined;
    const call = this.#call === undefined ? {} : { madeFor: this.#call };
    await this.#log.append(messages, { replaces, compacted, ...(progress ? { progress } : {}), ...call });
    const last = messages.at(-1);
    if (last) this.#open = openCalls(last).length > 0 ? new OpenAnswer(last) : undefined;
    if (compacted) this.#compacted = compacted;
    this.#replaces = false;
    this.#initial = 0;
    if (this.#knownResets === this.#history.resets) this.#saved += messages.length;
  }

  #take(read: SavedMessages): void {
    this.#noteReset();
    if (this.#replaces) return;
    const { messages, replaces, madeFor } = read;
    if (madeFor) this.#madeFor = madeFor;
    if (messages.length > 0 || replaces) {
      if (replaces) this.#open = undefined;
      const before = this.#open ? [this.#open.message] : [];
      const repair = this.journal ? withOpenEnd : withEveryCallAnswered;
      const added = repair([...before, ...messages.map(copyMessage)])
        .slice(before.length)
        .map(snapshot);
      const start = replaces ? 0 : this.#saved;
      this.#replace(start, this.#saved - start + this.#initial, added);
      this.#saved = start + added.length;
      this.#initial = 0;
    }
    if (this.journal) this.#takeProgress(read);
  }

  #takeProgress({ progress, calls }: SavedMessages): void {
    if (progress) this.#progress = progress;
    const last = this.#saved > 0 ? this.#history.since(this.#saved - 1)[0] : undefined;
    if (!last || openCalls(last).length === 0) this.#open = undefined;
    else if (calls || this.#open?.message !== last) this.#open = new OpenAnswer(last, calls);
  }

  /** Adds results for the open calls, which are not made. */
  #closeAnswer(open: OpenAnswer): void {
    let after = open.message;
    for (const answer of open.answers().map(snapshot)) {
      this.#history.add(answer, { after });
      after = answer;
    }
  }

  /** The messages that are not saved; before them the last one that is, if its calls are open. */
  #unsaved(): Message[] {
    return this.#history.since(this.#saved - (this.#open ? 1 : 0));
  }

  #replaceUnsaved(messages: readonly Message[]): void {
    const saved = this.#open ? 1 : 0;
    this.#replace(this.#saved, this.#history.length - this.#saved, messages.slice(saved));
  }

  /** Undefined if the view is saved already, or refers to messages that are not. */
  #newlyCompacted(length: number): CompactedHistory | undefined {
    const { compacted } = this.#view;
    return compacted && compacted !== this.#compacted && compactedLength(compacted) <= length ? compacted : undefined;
  }

  #resumeCompaction({ compacted }: SavedMessages): void {
    if (!compacted || this.#replaces) return;
    if (JSON.stringify(compacted) !== JSON.stringify(this.#view.compacted)) this.#view.resumeCompaction(compacted);
    this.#compacted = this.#view.compacted;
  }

  /** Replaces messages without counting it as a reset by the program, which would empty the saved conversation. */
  #replace(index: number, count: number, messages: readonly Message[]): void {
    this.#history.replace(index, count, messages);
    this.#knownResets = this.#history.resets;
  }

  #noteReset(): void {
    if (this.#knownResets === this.#history.resets) return;
    this.#knownResets = this.#history.resets;
    this.#replaces = true;
    this.#saved = 0;
    this.#initial = 0;
    this.#open = undefined;
  }
}
