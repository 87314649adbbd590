// The command `pocket-agent serve`: serves the agent of an agent file over MCP or A2A.
import { PocketError, printable } from '@pocket-agent/kit';
import type { AgentServerOptions } from 'pocket-agent';
import { readArguments } from '../command-line/arguments.ts';
import { explainStdio, httpOptions, listenUntilStopped, readAddress } from '../command-line/http-options.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { accessFlags, readAgentRequest } from '../setup/agent-request.ts';
import { chooseModel } from '../setup/choose-model.ts';
import { makeAgent } from '../setup/make-agent.ts';
import { loadSources } from '../setup/tool-sources.ts';
import { screenLogger } from '../terminal/screen-logger.ts';

const serveOptions = {
  ...httpOptions,
  ...accessFlags,
  a2a: { type: 'boolean', default: false },
  conversation: { type: 'string' },
  model: { type: 'string', short: 'm' },
} as const;

type Conversation = NonNullable<AgentServerOptions['conversation']>;

const conversations: readonly Conversation[] = ['per-client', 'per-token', 'shared'];

function readConversation({ conversation, a2a, http }: { conversation?: string; a2a: boolean; http: boolean }) {
  if (conversation === undefined) return {};
  const wrong = (text: string) => new PocketError('CONFIG_INVALID', `--conversation ${text}`);
  if (a2a) throw wrong('applies to MCP only: A2A clients name their conversations.');
  const kind = conversations.find((known) => known === conversation);
  if (!kind) throw wrong(`must be ${conversations.join(', ')}, not "${conversation}".`);
  if (kind === 'per-token' && !http) throw wrong('per-token needs --http and --token.');
  return { conversation: kind };
}

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, serveOptions);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) {
    throw new PocketError('CONFIG_INVALID', 'Give one agent file: pocket-agent serve FILE');
  }
  const address = readAddress({ ...values, http: values.http || values.a2a });
  const conversation = readConversation(values);
  const request = await readAgentRequest({ ...values, agent: file });
  // stdout carries the protocol
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  const logger = screenLogger(tell);
  const { sources, problems, warnings } = await loadSources(request, { logger, signal: interrupts.signal });
  for (const line of [...problems, ...warnings]) tell(printable(line));
  const { model } = await chooseModel(request.model);
  const agent = makeAgent(request, { model, sources, logger });
  if (!address) {
    explainStdio();
    await agent.asMcpServer(conversation).serveStdio();
    return 0;
  }
  try {
    if (values.a2a) await import('@pocket-agent/a2a');
    const server = values.a2a ? agent.asA2aServer() : agent.asMcpServer(conversation);
    return await listenUntilStopped(interrupts, address, (given) => server.listen(given));
  } finally {
    await agent.close();
  }
}
