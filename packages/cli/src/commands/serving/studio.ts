// The command `pocket-agent studio`: opens a page on this machine to chat with agents and see what they do.
import { basename, extname } from 'node:path';
import { onAbort, PocketError, printable } from '@pocket-agent/kit';
import type { Runs } from '@pocket-agent/runs';
import type { Conversations } from '@pocket-agent/store';
import type { PocketAgent } from 'pocket-agent';
import { readArguments } from '../../command-line/arguments.ts';
import { readAddress } from '../../command-line/http-options.ts';
import type { Interrupts } from '../../command-line/interrupts.ts';
import { runsUrl } from '../../files/runs-url.ts';
import { openServedConversations } from '../../files/served-conversations.ts';
import { accessFlags, readAgentRequest, sourceFlags } from '../../setup/agent-request.ts';
import { chooseModel } from '../../setup/choose-model.ts';
import { makeAgent } from '../../setup/make-agent.ts';
import { loadSources } from '../../setup/tool-sources.ts';
import { screenLogger } from '../../terminal/screen-logger.ts';

const { agent: _files, ...otherSources } = sourceFlags;

const studioOptions = {
  ...otherSources,
  ...accessFlags,
  model: { type: 'string', short: 'm' },
  conversations: { type: 'string' },
  runs: { type: 'string' },
  gateway: { type: 'string', multiple: true },
  attach: { type: 'string', multiple: true },
  host: { type: 'string' },
  port: { type: 'string' },
} as const;

type Values = ReturnType<typeof readArguments<typeof studioOptions>>['values'];

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals: files } = readArguments(args, studioOptions);
  const { signal } = interrupts.listen();
  const { host, port } = readAddress({ http: true, host: values.host, port: values.port }) ?? {};
  const tell = (line: string) => void process.stderr.write(`${printable(line)}\n`);
  const agents = new Map<string, PocketAgent<unknown>>();
  const chats = values.conversations
    ? await openServedConversations(values.conversations, { scope: 'studio' })
    : undefined;
  let runs: Runs | undefined;
  try {
    const given = files.length === 0 ? [undefined] : files;
    for (const file of given) {
      const [name, agent] = await openAgent(file, values, { signal, tell, chats });
      if (agents.has(name))
        throw new PocketError('CONFIG_INVALID', `Two agents have the name "${name}": give each file a "name".`);
      agents.set(name, agent);
    }
    const { openStudio } = await import('@pocket-agent/studio');
    const place = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) };
    runs = values.runs ? await openDurableRuns(values.runs) : undefined;
    const gateways = (values.gateway ?? []).map(attachedGateway);
    const attached = (values.attach ?? []).map(attachedProgram);
    const kept = { ...(chats ? { conversations: chats } : {}), ...(runs ? { runs } : {}) };
    const studio = await openStudio({ agents: Object.fromEntries(agents), ...kept, ...place, gateways, attached });
    tell(`studio: ${studio.url}`);
    await new Promise<void>((resolve) => void onAbort(signal, () => resolve()));
    await studio.close();
    return interrupts.exitCode ?? 0;
  } finally {
    await Promise.all([...agents.values()].map((agent) => agent.close()));
    await runs?.close();
    await chats?.close();
  }
}

function attachedGateway(url: string): { url: string; token: string; metricsToken?: string } {
  const { POCKET_AGENT_GATEWAY_TOKEN: token = '', POCKET_AGENT_GATEWAY_METRICS_TOKEN: metricsToken } = process.env;
  if (token === '')
    throw new PocketError(
      'CONFIG_INVALID',
      'Set POCKET_AGENT_GATEWAY_TOKEN to the token of an approver: pocket-agent gateway token add NAME --approver',
    );
  return { url, token, ...(metricsToken ? { metricsToken } : {}) };
}

/** The address that a program printed, with its token in the fragment or in the environment. */
function attachedProgram(address: string): { url: string; token: string } {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url?.protocol.startsWith('http'))
    throw new PocketError('CONFIG_INVALID', `--attach needs the address that a program printed, not "${address}".`);
  const token = /^#token=(.+)$/.exec(url.hash)?.[1] ?? process.env.POCKET_AGENT_STUDIO_TOKEN;
  if (token) return { url: url.origin, token };
  throw new PocketError(
    'CONFIG_INVALID',
    `--attach ${url.origin} needs the token of that program: at the end of the address, or in POCKET_AGENT_STUDIO_TOKEN.`,
  );
}

/** Opens the runs of other processes, to show them and to answer their questions. */
async function openDurableRuns(location: string): Promise<Runs> {
  const { openRuns } = await import('@pocket-agent/runs');
  return openRuns({ url: runsUrl(location) });
}

interface Surroundings {
  signal: AbortSignal;
  tell(line: string): void;
  chats: Conversations | undefined;
}

/** The agent of a file, or the one that the options describe. */
async function openAgent(
  file: string | undefined,
  values: Values,
  { signal, tell, chats }: Surroundings,
): Promise<[string, PocketAgent<unknown>]> {
  const request = await readAgentRequest({ ...values, ...(file === undefined ? {} : { agent: file }) });
  if (request.memory && !chats)
    throw new PocketError(
      'CONFIG_INVALID',
      `${file}: memory needs a database: pocket-agent studio --conversations FILE`,
    );
  const name = request.config.name ?? (file === undefined ? 'Pocket' : basename(file, extname(file)));
  const logger = screenLogger(tell);
  const { sources, problems, warnings } = await loadSources(request, {
    logger,
    signal,
    ...(chats ? { openMemory: async () => chats.forOwner(name).memory } : {}),
  });
  for (const line of [...problems, ...warnings]) tell(line);
  const { model, because } = await chooseModel(request.model);
  tell(`${name}: ${model} (${because})`);
  return [name, makeAgent(request, { model, sources, logger })];
}
