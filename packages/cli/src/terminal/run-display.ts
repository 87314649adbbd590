// Shows a run to the user: the answer on stdout, tool calls and problems on stderr.

import { PrintableStream, printable, printableJson, printableText, truncate } from '@pocket-agent/kit';
import type { AgentEvent } from 'pocket-agent';
import { NO_APPROVER } from 'pocket-agent/internal';
import { Activity } from './activity.ts';
import { MarkdownStream } from './markdown.ts';
import { ProgressBars } from './progress-bars.ts';
import type { Screen } from './screen.ts';
import { makeStyle } from './style.ts';

/** Shows a run to the user, or writes it as JSON lines for a program. */
export interface Display {
  show(event: AgentEvent): void;
  /** Called when the run has finished or failed. */
  end(): void;
}

export interface RunDisplayOptions {
  screen: Screen;
  quiet: boolean;
  /** True if stdout is a terminal: text is shown as it streams. Otherwise only the final answer is written. */
  isLive: boolean;
  /** True if the answer is a value: only its JSON goes to stdout. */
  isTyped?: boolean;
  /** Whether stdout and stderr take colours. */
  hasColour: { out: boolean; err: boolean };
  /** The last problem shown for each server; shared by the runs of a chat, so that nothing is shown twice. */
  shownProblems?: Map<string, string>;
}

const MAX_CALL = 500;
const MAX_RESULT = 200;

export class RunDisplay implements Display {
  readonly #options: RunDisplayOptions;
  /** Whether text goes to stdout as it streams. */
  readonly #isLive: boolean;
  readonly #printable = new PrintableStream();
  readonly #markdown: MarkdownStream | undefined;
  readonly #bars = new ProgressBars();
  readonly #activity: Activity | undefined;
  /** The text of the current step, if stdout is not a terminal. */
  #stepText = '';
  #explainedApproval = false;

  constructor(options: RunDisplayOptions) {
    this.#options = options;
    this.#isLive = options.isLive && !options.isTyped;
    const { screen, hasColour, quiet } = options;
    if (hasColour.err && !quiet) this.#activity = new Activity(() => this.#showStatus());
    if (!hasColour.out) return;
    this.#markdown = new MarkdownStream({
      style: makeStyle(true),
      write: (text) => screen.answer(text),
      columns: () => screen.columns,
    });
  }

  show(event: AgentEvent): void {
    this.#activity?.handle(event);
    if (!event.meta.isSubAgent) this.#showText(event);
    this.#showLine(event, '  '.repeat(event.meta.path.length - 1));
  }

  end(): void {
    this.#endText();
    this.#showStepText(); // a failed run has no answer
    this.#bars.clear();
    this.#activity?.end();
    this.#showStatus();
  }

  #tell(line: string): void {
    if (!this.#options.quiet) this.#options.screen.line(line);
  }

  #showText(event: AgentEvent): void {
    const { screen, isTyped } = this.#options;
    if (event.type === 'text_delta') {
      if (this.#isLive) this.#write(this.#printable.push(event.data.delta));
      else this.#stepText += event.data.delta;
    } else if (event.type === 'tool_call' || event.type === 'step_finished') {
      this.#endText();
    } else if (event.type === 'run_finished') {
      this.#stepText = '';
      const { answer } = event.data;
      if (!this.#isLive) screen.answer(withLineEnd(isTyped ? printableJson(answer) : String(answer)));
    }
  }

  #write(text: string): void {
    if (this.#markdown) this.#markdown.push(text);
    else this.#options.screen.answer(text);
  }

  #endText(): void {
    if (this.#isLive) {
      this.#write(this.#printable.end());
      this.#markdown?.end();
      this.#options.screen.endLine();
    }
  }

  /** Text before the final answer goes to stderr, because stdout is not a terminal. */
  #showStepText(): void {
    if (this.#stepText) this.#tell(printableText(this.#stepText.trimEnd()));
    this.#stepText = '';
  }

  #showLine(event: AgentEvent, indent: string): void {
    if (event.type === 'tool_call') this.#showStepText();
    if (event.type === 'tool_progress') {
      this.#bars.update(event.data);
      this.#showStatus();
      return;
    }
    if (event.type === 'tool_result' && this.#bars.end(event.data.toolCallId)) this.#showStatus();
    const line = this.#describe(event);
    // shown even with --quiet: without its tools the answer may be wrong
    if (line && event.type === 'server_status') this.#options.screen.line(indent + line);
    else if (line) this.#tell(indent + line);
  }

  /** Progress bars replace the status line. */
  #showStatus(): void {
    const bars = this.#bars.lines();
    const { line } = this.#activity ?? {};
    if (!this.#options.quiet) this.#options.screen.status(bars.length > 0 || line === undefined ? bars : [line]);
  }

  #isNewProblem({ server, status, reason }: { server: string; status: string; reason?: string }): boolean {
    const { shownProblems } = this.#options;
    if (status === 'connected') shownProblems?.delete(server);
    if (reason === undefined || shownProblems?.get(server) === reason) return false;
    shownProblems?.set(server, reason);
    return true;
  }

  #describe(event: AgentEvent): string | undefined {
    const style = makeStyle(this.#options.hasColour.err);
    switch (event.type) {
      case 'tool_call':
        return `${style.cyan('→')} ${printable(event.data.toolName)} ${style.dim(truncate(printableJson(event.data.arguments), MAX_CALL))}`;
      case 'tool_result': {
        const [first] = event.data.toolResultContent;
        const content = first?.type === 'text' ? first.text : `[${first?.mediaType}]`;
        const lines = content.split('\n').map((line) => printable(line));
        const mark = event.data.isError ? style.red('✗') : style.green('←');
        return `${mark} ${style.dim(truncate(lines.join('\n'), MAX_RESULT))}`;
      }
      case 'audit':
        if (event.data.reason !== NO_APPROVER || this.#explainedApproval) return undefined;
        this.#explainedApproval = true;
        return 'Calls cannot be approved without a terminal; --yes allows every call.';
      case 'server_status':
        return this.#isNewProblem(event.data)
          ? printable(`server ${event.data.server}: ${event.data.reason}`)
          : undefined;
      case 'server_log':
        return ['debug', 'info', 'notice'].includes(event.data.level)
          ? undefined
          : `${printable(event.data.server)}: ${printableJson(event.data.data)}`;
      case 'tool_changed':
        return printable(`the definition of tool ${event.data.toolName} has changed since it was first used`);
      case 'tool_renamed':
        return printable(
          `tool "${event.data.ownName}" of ${event.data.source} is renamed to "${event.data.toolName}": ${event.data.reason}`,
        );
      case 'compacted':
        return `prompt compacted from about ${event.data.tokensBefore} to ${event.data.tokensAfter} tokens`;
      case 'model_retry':
        return printable(`retrying the model in ${Math.round(event.data.delayMs)} ms: ${event.data.reason}`);
      default:
        return undefined;
    }
  }
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
