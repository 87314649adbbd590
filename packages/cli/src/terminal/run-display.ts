// What a run looks like to a person: the answer on stdout as it comes, calls and troubles on stderr.

import { PrintableStream, printable, printableJson, printableText, truncate } from '@pocket-agent/kit';
import type { AgentEvent } from 'pocket-agent';
import { NOBODY_TO_ASK } from 'pocket-agent/internal';
import { Activity } from './activity.ts';
import { MarkdownStream } from './markdown.ts';
import { ProgressBars } from './progress-bars.ts';
import type { Screen } from './screen.ts';
import { makeStyle } from './style.ts';

/** Whoever shows a run: to a person, or as JSON lines to a program. */
export interface Display {
  show(event: AgentEvent): void;
  /** The run is over, well or not. */
  end(): void;
  /** Something to know beside the run. */
  tell(line: string): void;
}

export interface RunDisplayOptions {
  screen: Screen;
  quiet: boolean;
  /** Whether stdout is a terminal: then text shows as it comes. Else the answer alone is written, when it is there. */
  isLive: boolean;
  /** Whether stdout and stderr show colours. */
  hasColour: { out: boolean; err: boolean };
  /** By server, what was last shown to be wrong with it. Shared by the runs of a chat: nothing is shown twice. */
  shownTroubles?: Map<string, string>;
}

const LONGEST_CALL = 500;
const LONGEST_RESULT = 200;

export class RunDisplay implements Display {
  readonly #options: RunDisplayOptions;
  readonly #harmless = new PrintableStream();
  readonly #markdown: MarkdownStream | undefined;
  readonly #bars = new ProgressBars();
  readonly #activity: Activity | undefined;
  /** What the model said in this step, for a pipe. */
  #said = '';
  #toldNobody = false;

  constructor(options: RunDisplayOptions) {
    this.#options = options;
    const { screen, hasColour, quiet } = options;
    if (hasColour.err && !quiet) this.#activity = new Activity(() => this.#showStatus());
    if (!hasColour.out) return;
    this.#markdown = new MarkdownStream({
      style: makeStyle(true),
      write: (text) => screen.answer(text),
      columns: () => screen.columns,
    });
  }

  tell(line: string): void {
    if (!this.#options.quiet) this.#options.screen.line(line);
  }

  show(event: AgentEvent): void {
    this.#activity?.see(event);
    if (!event.meta.isSubAgent) this.#showText(event);
    this.#showLine(event, '  '.repeat(event.meta.path.length - 1));
  }

  end(): void {
    this.#endText();
    this.#tellWhatWasSaid(); // of a run that failed there is no answer
    this.#bars.clear();
    this.#activity?.end();
    this.#showStatus();
  }

  #showText(event: AgentEvent): void {
    const { isLive, screen } = this.#options;
    if (event.type === 'text_delta') {
      if (isLive) this.#write(this.#harmless.push(event.data.delta));
      else this.#said += event.data.delta;
    } else if (event.type === 'tool_call' || event.type === 'step_finished') {
      this.#endText();
    } else if (event.type === 'run_finished') {
      this.#said = '';
      if (!isLive) screen.answer(withLineEnd(String(event.data.answer)));
    }
  }

  #write(text: string): void {
    if (this.#markdown) this.#markdown.push(text);
    else this.#options.screen.answer(text);
  }

  #endText(): void {
    const { screen, isLive } = this.#options;
    if (isLive) {
      this.#write(this.#harmless.end());
      this.#markdown?.end();
      screen.endLine();
    }
  }

  /** In a pipe only the answer goes to stdout. */
  #tellWhatWasSaid(): void {
    if (this.#said) this.tell(printableText(this.#said.trimEnd()));
    this.#said = '';
  }

  #showLine(event: AgentEvent, indent: string): void {
    if (event.type === 'tool_call') this.#tellWhatWasSaid();
    if (event.type === 'tool_progress') {
      this.#bars.update(event.data);
      this.#showStatus();
      return;
    }
    if (event.type === 'tool_result' && this.#bars.end(event.data.toolCallId)) this.#showStatus();
    const line = this.#describe(event);
    // an answer without the tools that were asked for is another answer
    if (line && event.type === 'server_status') this.#options.screen.line(indent + line);
    else if (line) this.tell(indent + line);
  }

  /** A tool that reports progress needs no second line that says it runs. */
  #showStatus(): void {
    const bars = this.#bars.lines();
    const { line } = this.#activity ?? {};
    if (!this.#options.quiet) this.#options.screen.status(bars.length > 0 || line === undefined ? bars : [line]);
  }

  #isNewTrouble({ server, status, reason }: { server: string; status: string; reason?: string }): boolean {
    const { shownTroubles } = this.#options;
    if (status === 'connected') shownTroubles?.delete(server);
    if (reason === undefined || shownTroubles?.get(server) === reason) return false;
    shownTroubles?.set(server, reason);
    return true;
  }

  #describe(event: AgentEvent): string | undefined {
    const style = makeStyle(this.#options.hasColour.err);
    switch (event.type) {
      case 'tool_call':
        return `${style.cyan('→')} ${printable(event.data.name)} ${style.dim(truncate(printableJson(event.data.arguments), LONGEST_CALL))}`;
      case 'tool_result': {
        const [first] = event.data.toolResultContent;
        const content = first?.type === 'text' ? first.text : `[${first?.mediaType}]`;
        const lines = content.split('\n').map((line) => printable(line));
        const mark = event.data.isError ? style.red('✗') : style.green('←');
        return `${mark} ${style.dim(truncate(lines.join('\n'), LONGEST_RESULT))}`;
      }
      case 'audit':
        if (event.data.reason !== NOBODY_TO_ASK || this.#toldNobody) return undefined;
        this.#toldNobody = true;
        return 'Without a terminal there is nobody to ask; --yes allows every call.';
      case 'server_status':
        return this.#isNewTrouble(event.data)
          ? printable(`server ${event.data.server}: ${event.data.reason}`)
          : undefined;
      case 'server_log':
        return ['debug', 'info', 'notice'].includes(event.data.level)
          ? undefined
          : `${printable(event.data.server)}: ${printableJson(event.data.data)}`;
      case 'tool_changed':
        return printable(`tool ${event.data.tool} is not what it was when it was first seen`);
      case 'tool_renamed':
        return printable(
          `tool "${event.data.tool}" of ${event.data.source} is called "${event.data.name}" here: ${event.data.reason}`,
        );
      case 'model_retry':
        return printable(`the model is asked again in ${Math.round(event.data.delayMs)} ms: ${event.data.reason}`);
      default:
        return undefined;
    }
  }
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
