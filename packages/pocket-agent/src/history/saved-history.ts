// Keeps the history of an agent and its saved conversation in step: reads what other processes saved when a run begins,
// and saves new messages after each step. A tool call is saved together with its result.
import { errorText, type Logger, snapshot } from '@pocket-agent/kit';
import { answeredLength, withEveryCallAnswered } from '../base/history-repair.ts';
import { copyMessage, type Message } from '../base/messages.ts';
import { type CompactedHistory, compactedLength } from '../compaction/history-view.ts';
import type { ResultLimits, ResultStore } from '../compaction/result-pages.ts';
import type { ConversationLog, SavedMessages } from './conversation-log.ts';
import type { History } from './history.ts';
import type { AgentMemory } from './memory-tools.ts';

/** What the model sees of the history. */
interface View {
  readonly compacted: CompactedHistory | undefined;
  resumeCompaction(compacted: CompactedHistory): void;
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
  /** Messages that the agent was created with. They begin a new conversation, and are dropped if it is not new. */
  #initial: number;
  /** The history was reset; the next save replaces the conversation. */
  #replaces = false;
  #knownResets: number;
  /** From `begin` to `end`. */
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

  /** Before a run: waits until no other run holds the conversation. */
  async begin(signal: AbortSignal): Promise<void> {
    const read = await this.#log.begin(signal);
    this.#isHeld = true;
    this.#take(read);
    // calls that the program added without results would keep all later messages from being saved
    const added = this.#history.since(this.#saved);
    if (answeredLength(added) < added.length)
      this.#replace(this.#saved, added.length, withEveryCallAnswered(added).map(snapshot));
    this.#resumeCompaction(read);
  }

  /** Saves the new messages, except those of a step whose tools still run. */
  save(): Promise<void> {
    this.#saving = this.#saving.then(
      () => this.#saveNow(),
      () => this.#saveNow(),
    );
    return this.#saving;
  }

  /** After a run. Messages that cannot be saved are dropped, so that history and conversation agree. */
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
    await this.#log.end().catch((error) => this.#logger.warn(`A conversation was not released: ${errorText(error)}`));
  }

  async #saveNow(): Promise<void> {
    this.#noteReset();
    const added = this.#history.since(this.#saved);
    const messages = added.slice(0, answeredLength(added));
    const replaces = this.#replaces;
    const compacted = this.#newlyCompacted(this.#saved + messages.length);
    if (messages.length === 0 && !replaces && !compacted) return;
    await this.#log.append(messages, { replaces, compacted });
    if (compacted) this.#compacted = compacted;
    this.#replaces = false;
    this.#initial = 0;
    if (this.#knownResets === this.#history.resets) this.#saved += messages.length;
  }

  #take({ messages, replaces }: SavedMessages): void {
    this.#noteReset();
    if (this.#replaces || (messages.length === 0 && !replaces)) return;
    const read = withEveryCallAnswered(messages.map(copyMessage)).map(snapshot);
    const start = replaces ? 0 : this.#saved;
    this.#replace(start, this.#saved - start + this.#initial, read);
    this.#saved = start + read.length;
    this.#initial = 0;
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

  /** Not a reset by the program, which would empty the saved conversation too. */
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
  }
}
