// The chat: messages and slash commands, until /exit, Ctrl-D, or Ctrl-C twice.

import { didYouMean, printable, printableText, VERSION } from '@pocket-agent/kit';
import { type FileInput, resolveModel } from 'pocket-agent';
import { SwitchableModel } from 'pocket-agent/internal';
import { exitCodes } from '../command-line/exit-codes.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { commandErrorText } from '../command-line/report-error.ts';
import { checkSessionName, SessionsOnDemand, sessionLine } from '../files/sessions.ts';
import { makeApprover } from '../questions/approver.ts';
import type { AgentRequest } from '../setup/agent-request.ts';
import { offerAgentsMd } from '../setup/agents-md.ts';
import { chooseModel } from '../setup/choose-model.ts';
import { type OfferOptions, offerFoundConfigs } from '../setup/found-configs.ts';
import { makeAgent } from '../setup/make-agent.ts';
import { settingsFor } from '../setup/model-settings.ts';
import { loadSources } from '../setup/tool-sources.ts';
import { whileConnecting } from '../terminal/activity.ts';
import { RunDisplay } from '../terminal/run-display.ts';
import { Screen } from '../terminal/screen.ts';
import { screenLogger } from '../terminal/screen-logger.ts';
import { hasColour, makeStyle, type Style } from '../terminal/style.ts';
import { difference, usageLine } from '../terminal/usage-line.ts';
import { type ChatCommand, chatCommands, completeCommand } from './chat-commands.ts';
import { ChatHistory } from './chat-history.ts';
import { ChatInput } from './chat-input.ts';
import type { ChatState } from './chat-state.ts';

const PROMPT = '> ';
const HOW_TO_LEAVE = 'Press Ctrl-C again to leave; /exit and Ctrl-D leave too.';

export interface ChatOptions {
  request: AgentRequest;
  images: readonly Uint8Array[];
  files: readonly FileInput[];
  yes: boolean;
  quiet: boolean;
  session?: string;
}

export async function chat(options: ChatOptions, interrupts: Interrupts): Promise<number> {
  const screen = new Screen(process.stdout, process.stderr);
  const style = makeStyle(hasColour(process.stdout));
  const input = new ChatInput({
    input: process.stdin,
    output: process.stdout,
    history: await ChatHistory.load(),
    complete: (line) => completeCommand(line, state),
  });
  let state: ChatState | undefined;
  const { session } = options;
  if (session !== undefined) checkSessionName(session);
  const sessions = new SessionsOnDemand();
  try {
    const offer: OfferOptions = {
      ask: (question) => input.confirm(question, interrupts.signal),
      tell: (line) => screen.answer(`${line}\n`),
    };
    const request = await offerAgentsMd(await offerFoundConfigs(options.request, offer), offer);
    const chosen = await chooseModel(request.model);
    const model = new SwitchableModel(await resolveModel(chosen.model, settingsFor(request, chosen.model)));
    const logger = screenLogger((line) => screen.line(line));
    const { folders, sources, problems, warnings } = await loadSources(request, {
      logger,
      signal: interrupts.signal,
      openMemory: () => sessions.memory(),
    });
    for (const line of [...problems, ...warnings]) screen.line(printable(line));
    const approver = makeApprover({ screen, interrupts, yes: options.yes });
    const { profile, ...access } = request.access;
    await using agent = makeAgent(
      { ...request, access },
      {
        model,
        sources,
        allowImages: request.config.allowImages ?? true,
        approver,
        logger,
      },
    );
    if (session !== undefined) await (await sessions.get()).resume(session, agent);
    const current: ChatState = {
      agent,
      request,
      model,
      folders,
      sources,
      approver,
      get signal() {
        return interrupts.signal;
      },
      modelName: chosen.model,
      profile,
      session,
      sessions: () => sessions.get(),
      images: [...options.images],
      files: [...options.files],
      print: (...lines) => screen.answer(lines.map((line) => `${screen.wrapped(printableText(line))}\n`).join('')),
      connecting: (work) => whileConnecting(screen, () => agent.mcpClient.status, work),
    };
    state = current;
    if (!options.quiet) greet(current, chosen.because);
    return await new Conversation(current, { screen, style, input, interrupts, quiet: options.quiet }).talk();
  } finally {
    screen.close();
    await sessions.close();
  }
}

function greet({ print, modelName, session, agent }: ChatState, because: string): void {
  print(`Pocket Agent ${VERSION} · ${modelName} (${because})`);
  if (session !== undefined) print(sessionLine(session, agent));
  print('Type /help for the commands.');
}

interface ConversationParts {
  screen: Screen;
  style: Style;
  input: ChatInput;
  interrupts: Interrupts;
  quiet: boolean;
}

class Conversation {
  readonly #state: ChatState;
  readonly #parts: ConversationParts;
  /** The last problem shown for each server. */
  readonly #shownProblems = new Map<string, string>();

  constructor(state: ChatState, parts: ConversationParts) {
    this.#state = state;
    this.#parts = parts;
  }

  async talk(): Promise<number> {
    const { input, interrupts, style, quiet } = this.#parts;
    const { agent, print } = this.#state;
    // the first Ctrl-C stops an answer or clears the line; the second one leaves
    let isLeaving = false;
    for (;;) {
      const typed = await input.read(style.bold(PROMPT), interrupts.signal);
      if (interrupts.exitCode !== undefined && !interrupts.renew()) return interrupts.exitCode;
      if (typed.kind === 'end') break;
      if (typed.kind === 'interrupt') {
        if (isLeaving && !typed.hadText) {
          interrupts.interrupt();
          return exitCodes.interrupted;
        }
        isLeaving = !typed.hadText;
        if (isLeaving) print(HOW_TO_LEAVE);
        continue;
      }
      if ((await this.#answer(typed.text)) === 'leave') break;
      isLeaving = interrupts.signal.aborted;
      if (interrupts.exitCode !== undefined && !interrupts.renew()) return interrupts.exitCode;
    }
    if (!quiet && agent.totals.usage.modelCalls > 0) print(usageLine(agent.totals.usage));
    return exitCodes.answered;
  }

  async #answer(text: string): Promise<'leave' | undefined> {
    const [, name] = /^\/([a-z-]*)(?=\s|$)/i.exec(text) ?? [];
    if (name === undefined) {
      await this.#run(text);
      return undefined;
    }
    const command = chatCommands.find((candidate) => candidate.name === name || candidate.also === name);
    if (command) return this.#command(command, text.slice(name.length + 1).trim());
    const known = chatCommands.map((candidate) => `/${candidate.name}`);
    this.#state.print(`Unknown command /${name}.${didYouMean(`/${name}`, known)} Type /help for the commands.`);
    return undefined;
  }

  async #command(command: ChatCommand, argument: string): Promise<'leave' | undefined> {
    try {
      await command.run(this.#state, argument);
    } catch (error) {
      this.#state.print(commandErrorText(error));
    }
    return command.leaves ? 'leave' : undefined;
  }

  async #run(text: string): Promise<void> {
    const { agent, profile } = this.#state;
    const { screen, interrupts, style, quiet } = this.#parts;
    const colours = { out: hasColour(process.stdout), err: hasColour(process.stderr) };
    const display = new RunDisplay({
      screen,
      quiet,
      isLive: true,
      isTyped: agent.outputSchema !== undefined,
      hasColour: colours,
      shownProblems: this.#shownProblems,
    });
    const images = this.#state.images.splice(0);
    const files = this.#state.files.splice(0);
    const { signal } = interrupts;
    const before = structuredClone(agent.totals.usage);
    try {
      for await (const event of agent.stream({ text, images, files }, { signal, profile })) {
        display.show(event);
      }
    } catch (error) {
      display.end();
      screen.line(
        signal.aborted ? 'stopped; press Ctrl-C again to leave' : style.red(printable(commandErrorText(error))),
      );
    } finally {
      display.end();
    }
    const used = difference(agent.totals.usage, before);
    if (!quiet && used.modelCalls > 0) screen.line(makeStyle(colours.err).dim(usageLine(used)));
  }
}
