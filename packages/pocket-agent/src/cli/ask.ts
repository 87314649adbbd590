// One question from the command line: the answer goes to stdout, what happens on the way to stderr.
import { fileURLToPath } from 'node:url';
import { PocketAgent } from '../agent.ts';
import type { AgentEvent } from '../events.ts';
import { chooseModel } from './choose-model.ts';

export interface AskOptions {
  model: string | undefined;
  quiet: boolean;
  signal: AbortSignal;
}

const systemPrompt =
  'You are a helpful assistant in a terminal. Use the tools you have whenever they give a more certain answer than you could. Answer briefly.';

export async function ask(question: string, { model, quiet, signal }: AskOptions): Promise<void> {
  const tell = (line: string) => void (quiet || process.stderr.write(`${line}\n`));
  const chosen = await chooseModel(model);
  tell(`model: ${chosen.model} (${chosen.because})`);
  await using agent = new PocketAgent({
    agentConfig: { llmModel: chosen.model, name: 'Pocket', systemPrompt },
    mcpConfig: { mcpServers: { builtin: { command: process.execPath, args: [builtinServer()] } } },
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
}

/** The server is a .ts file in the repository and a .js file in the published package, like this one. */
function builtinServer(): string {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return fileURLToPath(new URL(`../builtin-server/main${extension}`, import.meta.url));
}

function describe(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'tool_call':
      return `→ ${event.data.name} ${JSON.stringify(event.data.arguments)}`;
    case 'tool_result': {
      const [first] = event.data.toolResultContent;
      const text = first?.type === 'text' ? first.text : `[${first?.mediaType}]`;
      return `${event.data.isError ? '✗' : '←'} ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
    }
    case 'server_status':
      return event.data.status === 'failed' ? `server ${event.data.server}: ${event.data.reason}` : undefined;
    case 'model_retry':
      return `the model is asked again in ${Math.round(event.data.delayMs)} ms: ${event.data.reason}`;
    default:
      return undefined;
  }
}
