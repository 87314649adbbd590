// The command `pocket-agent "prompt"`: answers once. The answer goes to stdout, everything else to stderr.
import { didYouMean, PocketError, printable } from '@pocket-agent/kit';
import type { FileInput, ServerStatus } from 'pocket-agent';
import { readArguments } from '../command-line/arguments.ts';
import { exitCodeOf, exitCodes } from '../command-line/exit-codes.ts';
import { commandNames, program, usageOf } from '../command-line/help.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { joinPrompt, readPipedInput } from '../command-line/piped-input.ts';
import { fileInput, readImage } from '../files/images.ts';
import { checkSessionName, SessionsOnDemand, sessionLine } from '../files/sessions.ts';
import { makeApprover } from '../questions/approver.ts';
import { type AgentRequest, agentFlags, readAgentRequest } from '../setup/agent-request.ts';
import { requiredAgentsMd } from '../setup/agents-md.ts';
import { chooseModel } from '../setup/choose-model.ts';
import { makeAgent } from '../setup/make-agent.ts';
import { withOutput } from '../setup/output-schema.ts';
import { loadSources } from '../setup/tool-sources.ts';
import { JsonEvents } from '../terminal/json-events.ts';
import { type Display, RunDisplay } from '../terminal/run-display.ts';
import { Screen } from '../terminal/screen.ts';
import { screenLogger } from '../terminal/screen-logger.ts';
import { hasColour } from '../terminal/style.ts';
import { usageLine } from '../terminal/usage-line.ts';

export const askOptions = {
  ...agentFlags,
  yes: { type: 'boolean', default: false },
  quiet: { type: 'boolean', short: 'q', default: false },
  json: { type: 'boolean', default: false },
  session: { type: 'string' },
  image: { type: 'string', multiple: true },
  output: { type: 'string' },
  file: { type: 'string', multiple: true },
} as const;

const PROMPT_ADVICE = 'Put a prompt that begins with this word after --.';

type AskValues = ReturnType<typeof readArguments<typeof askOptions>>['values'];

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals, tokens } = readArguments(args, askOptions);
  const { signal } = interrupts.listen();
  const json = values.json ? new JsonEvents((line) => process.stdout.write(line)) : undefined;
  try {
    const first = tokens.find(({ kind }) => kind !== 'option');
    if (first?.kind === 'positional') {
      refuseCommand(first.value, args.toSpliced(first.index, 1));
      refuseMisspelt(first.value);
    }
    const request = await withOutput(await requiredAgentsMd(await readAgentRequest(values)), values.output);
    const words = positionals.filter((word) => word !== '-').join(' ');
    const isNeeded = words === '' || positionals.includes('-');
    const prompt = joinPrompt(words, await readPipedInput({ isNeeded, signal }));
    const images = await Promise.all((values.image ?? []).map(readImage));
    const files = (values.file ?? []).map(fileInput);
    if (prompt === '' && process.stdin.isTTY && process.stdout.isTTY && !json) {
      const { chat } = await import('../chat/chat.ts');
      return await chat({ ...values, request, images, files }, interrupts);
    }
    if (prompt === '') {
      json?.error(new PocketError('CONFIG_INVALID', 'The prompt is missing.'), exitCodes.usage);
      process.stderr.write(`The prompt is missing.\n\n${usageOf('ask')}`);
      return exitCodes.usage;
    }
    return await answer({ values, request, prompt, images, files, json, interrupts });
  } catch (error) {
    json?.error(error, interrupts.exitCode ?? exitCodeOf(error));
    throw error;
  }
}

/** A command name after options would be sent to the model as a prompt and cost money. */
function refuseCommand(word: string, others: readonly string[]): void {
  if (!commandNames.includes(word)) return;
  const line = [word, ...others].map((part) => (/\s/.test(part) ? JSON.stringify(part) : part)).join(' ');
  throw new PocketError(
    'CONFIG_INVALID',
    `Put the command "${word}" before the options: ${program} ${line}\n${PROMPT_ADVICE}`,
  );
}

/** A misspelt command, too: a prompt in quotes is more than a word. */
function refuseMisspelt(word: string): void {
  const meant = /^[a-z-]+$/.test(word) && didYouMean(word, commandNames);
  if (!meant) return;
  throw new PocketError('CONFIG_INVALID', `There is no command "${word}".${meant} ${PROMPT_ADVICE}`);
}

/** A line of the prompt that would be a command in a chat. */
async function chatCommandIn(prompt: string): Promise<string | undefined> {
  const lines = prompt.match(/^\/[a-z]+\s*$/gm)?.map((line) => line.trim()) ?? [];
  if (lines.length === 0) return undefined;
  const { chatCommands } = await import('../chat/chat-commands.ts');
  return lines.find((line) => chatCommands.some(({ name, also }) => [name, also].includes(line.slice(1))));
}

/** What the user named and the run did not have. */
function missingSources(servers: ReadonlyMap<string, ServerStatus>, problems: readonly string[]): string[] {
  const lost = [...servers].flatMap(([name, status]) => (status === 'connected' ? [] : [`server ${name}`]));
  return problems.length > 0 ? [...lost, 'broken tool folders or skills'] : lost;
}

function codeFor(missing: readonly string[]): number {
  return missing.length > 0 ? exitCodes.incomplete : exitCodes.answered;
}

interface Question {
  values: AskValues;
  request: AgentRequest;
  prompt: string;
  images: readonly Uint8Array[];
  files: readonly FileInput[];
  json: JsonEvents | undefined;
  interrupts: Interrupts;
}

/** Returns the exit code. */
async function answer({ values, request, prompt, images, files, json, interrupts }: Question): Promise<number> {
  const { quiet, yes } = values;
  const { signal } = interrupts;
  const { isTTY } = process.stdout;
  const screen = new Screen(process.stdout, process.stderr);
  const colours = { out: isTTY && hasColour(process.stdout), err: hasColour(process.stderr) };
  const isTyped = (request.config.output ?? undefined) !== undefined;
  const display: Display = json ?? new RunDisplay({ screen, quiet, isLive: isTTY, isTyped, hasColour: colours });
  const tell = (line: string) => void (quiet || screen.line(printable(line)));
  const logger = screenLogger(tell);
  const { session } = values;
  if (session !== undefined) checkSessionName(session);
  const sessions = new SessionsOnDemand();
  try {
    if (session !== undefined) await sessions.get();
    const chosen = await chooseModel(request.model);
    const { sources, problems, warnings } = await loadSources(request, {
      logger,
      signal,
      openMemory: () => sessions.memory(),
    });
    for (const line of problems) screen.line(printable(line)); // also with --quiet: without its tools the answer may be wrong
    for (const line of warnings) tell(line);
    const chatCommand = await chatCommandIn(prompt);
    if (chatCommand) tell(`${chatCommand} is sent to the model: commands need a chat, in a terminal.`);
    tell(`model: ${chosen.model} (${chosen.because})`);
    if (!request.isBuiltIn && request.servers.size > 0) tell(`servers: ${[...request.servers.keys()].join(', ')}`);
    await using agent = makeAgent(request, {
      model: chosen.model,
      sources,
      ...(images.length > 0 || files.length > 0 ? { allowImages: true } : {}),
      approver: makeApprover({ screen, interrupts, yes }),
      logger,
    });
    if (session !== undefined) await (await sessions.get()).resume(session, agent);
    if (session !== undefined && agent.messages.length > 0) tell(sessionLine(session, agent));
    json?.start({ model: chosen.model, session });
    const servers = new Map<string, ServerStatus>();
    let missing: readonly string[];
    try {
      const run = agent.stream({ text: prompt, images, files }, { signal });
      let next = await run.next();
      for (; !next.done; next = await run.next()) {
        if (next.value.type === 'server_status') servers.set(next.value.data.server, next.value.data.status);
        display.show(next.value);
      }
      missing = missingSources(servers, problems);
      json?.answer(next.value, { totals: agent.totals, exitCode: codeFor(missing) });
    } finally {
      display.end();
      if (agent.totals.usage.modelCalls > 0) tell(usageLine(agent.totals.usage));
    }
    if (missing.length > 0)
      screen.line(printable(`answered without ${missing.join(', ')}: exit code ${codeFor(missing)}`));
    return codeFor(missing);
  } finally {
    screen.close();
    await sessions.close();
  }
}
