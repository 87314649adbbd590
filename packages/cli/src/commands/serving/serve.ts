// The command `pocket-agent serve`: serves the agent of an agent file over MCP or A2A.
import { PocketError, printable } from '@pocket-agent/kit';
import type { Conversations } from '@pocket-agent/store';
import type { AgentServerOptions } from 'pocket-agent';
import { readArguments } from '../../command-line/arguments.ts';
import {
  type Address,
  explainStdio,
  httpOptions,
  listenUntilStopped,
  readAddress,
} from '../../command-line/http-options.ts';
import type { Interrupts } from '../../command-line/interrupts.ts';
import { openServedConversations } from '../../files/served-conversations.ts';
import { type AgentRequest, accessFlags, readAgentRequest } from '../../setup/agent-request.ts';
import { chooseModel } from '../../setup/choose-model.ts';
import { makeAgent } from '../../setup/make-agent.ts';
import { loadSources } from '../../setup/tool-sources.ts';
import { screenLogger } from '../../terminal/screen-logger.ts';

const serveOptions = {
  ...httpOptions,
  ...accessFlags,
  a2a: { type: 'boolean', default: false },
  conversation: { type: 'string' },
  conversations: { type: 'string' },
  files: { type: 'string', multiple: true },
  model: { type: 'string', short: 'm' },
} as const;

/** The store's limit for the length of an owner. */
const MAX_OWNER_LENGTH = 256;

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
  const location = values.conversations ?? process.env.POCKET_AGENT_CONVERSATIONS;
  if (request.memory && !location)
    throw new PocketError(
      'CONFIG_INVALID',
      `${file}: memory needs a database: pocket-agent serve --conversations FILE`,
    );
  const chats = location ? await openServedConversations(location) : undefined;
  try {
    return await serve({ request, conversation, chats, files: values.files, address, isA2a: values.a2a }, interrupts);
  } finally {
    await chats?.close();
  }
}

interface Service {
  request: AgentRequest;
  conversation: Pick<AgentServerOptions, 'conversation'>;
  chats: Conversations | undefined;
  /** Types of files that clients may send. */
  files: string[] | undefined;
  address: Address | undefined;
  isA2a: boolean;
}

async function serve(
  { request, conversation, chats, files, address, isA2a }: Service,
  interrupts: Interrupts,
): Promise<number> {
  // stdout carries the protocol
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  const logger = screenLogger(tell);
  const { sources, problems, warnings } = await loadSources(request, {
    logger,
    signal: interrupts.signal,
    ...(chats ? { openMemory: async () => chats.forOwner(ownerOf(request)).memory } : {}),
  });
  for (const line of [...problems, ...warnings]) tell(printable(line));
  const { model } = await chooseModel(request.model);
  const agent = makeAgent(request, { model, sources, logger });
  try {
    const isShared = conversation.conversation === 'shared';
    if (chats && isShared) await chats.forOwner(ownerOf(request)).attach('shared', agent);
    const options = { ...(files ? { files } : {}), ...(chats && !isShared ? { conversations: chats } : {}) };
    if (!address) {
      explainStdio();
      await agent.asMcpServer({ ...conversation, ...options }).serveStdio();
      return 0;
    }
    if (isA2a) await import('@pocket-agent/a2a');
    const server = isA2a ? agent.asA2aServer(options) : agent.asMcpServer({ ...conversation, ...options });
    return await listenUntilStopped(interrupts, address, (given) => server.listen(given));
  } finally {
    await agent.close();
  }
}

/** Several agents may share a database. */
function ownerOf({ config }: AgentRequest): string {
  return `agent ${config.name ?? ''}`.slice(0, MAX_OWNER_LENGTH);
}
