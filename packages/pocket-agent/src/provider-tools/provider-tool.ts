// Tools that the provider of the model runs itself, such as web search: offered by the option `providerTools`.
import type { LanguageModelV4ProviderTool } from '@ai-sdk/provider';
import type { Tool } from '@modelcontextprotocol/client';
import {
  configError,
  isRecord,
  isString,
  nullable,
  OptionSet,
  PocketError,
  snapshot,
  stringRule,
} from '@pocket-agent/kit';
import { type Capability, checkCapability, type Judgement } from '../access/capabilities.ts';
import type { ToolSource } from '../tools/tool-source.ts';

/** A tool of a provider. A tool object of an AI SDK package with a `capability` fits too. */
export interface ProviderTool {
  /** Such as `anthropic.web_search_20250305`, `openai.web_search` or `google.google_search`. */
  id: `${string}.${string}`;
  /** Decides which profiles offer it to the model. */
  capability: Capability;
  /** Settings of the tool, in the form of the AI SDK package. */
  args?: Record<string, unknown>;
  /** Default: the name in `id`, without its date. */
  name?: string;
  description?: string;
}

const toolOptions = new OptionSet<ProviderTool>('A provider tool', {
  id: stringRule,
  capability: true,
  args: nullable('an object', isRecord),
  name: nullable('a string', isString),
  description: nullable('a string', isString),
});

/** The provider only describes these; the program has to run them. */
const RUN_BY_PROGRAM =
  /^(anthropic\.(bash|computer|text_editor|memory)|openai\.(local_shell|apply_patch|computer|custom))/;

interface Offered {
  definition: Tool;
  tool: LanguageModelV4ProviderTool;
  judgement: Judgement;
}

export function providerToolSource(tools: readonly ProviderTool[]): ToolSource {
  return new ProviderTools(tools.map(offer));
}

function offer(given: ProviderTool): Offered {
  const { id, capability, args = {}, name = defaultName(id), description } = given;
  toolOptions.checkSpelling(given, `The provider tool "${id}"`);
  if (typeof id !== 'string' || !/^[\w-]+\.[\w.-]+$/.test(id))
    throw configError(
      `A provider tool needs an id such as "anthropic.web_search_20250305", got ${JSON.stringify(id)}.`,
    );
  if (RUN_BY_PROGRAM.test(id))
    throw configError(`"${id}" is run by your program, not by the provider: write a tool() in its place.`);
  if (capability === undefined)
    throw configError(
      `The provider tool "${id}" needs a capability, such as capability: 'read': profiles decide by it.`,
    );
  checkCapability(`The capability of the provider tool "${id}"`, capability);
  const [provider] = id.split('.');
  return {
    definition: snapshot({
      name,
      description: description ?? `Run by the provider of the model (${provider}).`,
      inputSchema: { type: 'object' },
    }),
    tool: snapshot({ type: 'provider', id, name, args }),
    judgement: { capability, from: 'config' },
  };
}

/** `anthropic.web_search_20250305` is called `web_search` in answers. */
function defaultName(id: unknown): string {
  return String(id)
    .replace(/^[^.]*\./, '')
    .replace(/_\d{8}$/, '')
    .replaceAll('.', '_');
}

class ProviderTools implements ToolSource {
  readonly name = 'provider';
  readonly hasOwnSchemas = true;
  readonly #byDefinition: ReadonlyMap<string, Offered>;

  constructor(offered: readonly Offered[]) {
    const byName = new Map<string, Offered>();
    for (const each of offered) {
      const { name } = each.definition;
      if (byName.has(name)) throw configError(`Two provider tools are called "${name}": give one of them a "name".`);
      byName.set(name, each);
    }
    this.#byDefinition = byName;
  }

  listTools(): Tool[] {
    return [...this.#byDefinition.values()].map(({ definition }) => definition);
  }

  judge({ name }: Tool): Judgement {
    return this.#byDefinition.get(name)?.judgement ?? { capability: 'delete', from: 'nothing' };
  }

  providerTool({ name }: Tool): LanguageModelV4ProviderTool | undefined {
    return this.#byDefinition.get(name)?.tool;
  }

  /** The model wrote a call that its provider should have run. */
  async callTool(name: string): Promise<never> {
    throw new PocketError('TOOL_FAILED', `"${name}" is run by the provider of the model, which did not run this call.`);
  }
}
