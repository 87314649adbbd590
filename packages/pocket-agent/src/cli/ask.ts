// One question from the command line: the answer goes to stdout, what happens on the way to stderr.
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type ProfileName, readProfile } from '../access.ts';
import { PocketAgent } from '../agent.ts';
import { PocketError } from '../errors.ts';
import type { AgentEvent } from '../events.ts';
import type { AccessOptions } from '../gate.ts';
import { chooseModel } from './choose-model.ts';
import { bounded, printable, printableJson } from './printable.ts';
import { chooseServers } from './servers.ts';
import { TerminalApproval } from './terminal-approval.ts';

export interface AskOptions {
  signal: AbortSignal;
  interrupt(): void;
}

const confirmPolicies = ['never', 'destructive', 'write', 'always'] as const;

const systemPrompt =
  'You are a helpful assistant in a terminal. Use the tools you have whenever they give a more certain answer than you could. Answer briefly.';

/** False when there is no question. */
export async function ask(args: readonly string[], { signal, interrupt }: AskOptions): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      model: { type: 'string', short: 'm' },
      config: { type: 'string' },
      profile: { type: 'string' },
      confirm: { type: 'string', default: 'destructive' },
      yes: { type: 'boolean', default: false },
      quiet: { type: 'boolean', short: 'q', default: false },
    },
  });
  const access = readAccess(values);
  const question = positionals.join(' ').trim() || (process.stdin.isTTY ? '' : (await text(process.stdin)).trim());
  if (!question) return false;
  const servers = await chooseServers(values.config);
  const chosen = await chooseModel(values.model);
  const hasTerminal = process.stdin.isTTY && process.stderr.isTTY;
  const terminal = new TerminalApproval({ input: process.stdin, output: process.stderr, interrupt });
  const approve = values.yes ? () => 'allow' as const : hasTerminal ? terminal.approve : undefined;
  const tell = (line: string) => void (values.quiet || terminal.print(line));
  tell(`model: ${chosen.model} (${chosen.because})`);
  if (servers.from !== 'built in') tell(`servers: ${servers.from}`);
  await using agent = new PocketAgent({
    agentConfig: { llmModel: chosen.model, name: 'Pocket', systemPrompt },
    mcpConfig: servers.mcpConfig,
    access,
    ...(approve ? { approve } : {}),
  });
  let atLineStart = true;
  for await (const event of agent.stream(question, { signal })) {
    if (event.type === 'text_delta' && !event.meta.isSubAgent) {
      process.stdout.write(event.data.delta);
      atLineStart = event.data.delta.endsWith('\n');
    } else if (event.type === 'step_finished' && !atLineStart) {
      process.stdout.write('\n');
      atLineStart = true;
    }
    const line = describe(event);
    if (line) tell(line);
  }
  return true;
}

function readAccess({ profile, confirm }: { profile?: string; confirm: string }): AccessOptions {
  const policy = confirmPolicies.find((name) => name === confirm);
  if (!policy) {
    throw new PocketError(
      'CONFIG_INVALID',
      `--confirm must be one of ${confirmPolicies.join(', ')}, not "${confirm}".`,
    );
  }
  return { confirm: policy, ...(profile === undefined ? {} : { profile: readProfile(profile as ProfileName) }) };
}

function describe(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'tool_call':
      return `→ ${printable(event.data.name)} ${printableJson(event.data.arguments)}`;
    case 'tool_result': {
      const [first] = event.data.toolResultContent;
      const content = first?.type === 'text' ? first.text : `[${first?.mediaType}]`;
      return `${event.data.isError ? '✗' : '←'} ${bounded(
        content
          .split('\n')
          .map((line) => printable(line))
          .join('\n'),
        200,
      )}`;
    }
    case 'audit':
      return event.data.by === 'nobody'
        ? 'Without a terminal there is nobody to ask; --yes allows every call.'
        : undefined;
    case 'server_status':
      return event.data.status === 'failed'
        ? printable(`server ${event.data.server}: ${event.data.reason}`)
        : undefined;
    case 'model_retry':
      return printable(`the model is asked again in ${Math.round(event.data.delayMs)} ms: ${event.data.reason}`);
    default:
      return undefined;
  }
}
