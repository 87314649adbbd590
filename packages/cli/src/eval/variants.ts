// What `pocket-agent eval` compares: every agent with every model and every system prompt that was given.
import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { checkModelName } from 'pocket-agent/internal';
import { type AgentRequest, type AgentValues, readAgentRequest } from '../setup/agent-request.ts';
import { chooseModel } from '../setup/choose-model.ts';

export interface Variant {
  /** What distinguishes it from the other variants; the model if there are no others. */
  name: string;
  model: string;
  request: AgentRequest;
}

export interface Compared {
  agents: readonly string[];
  models: readonly string[];
  /** Files with system prompts. */
  prompts: readonly string[];
  /** The other options. */
  values: Omit<AgentValues, 'agent' | 'model'>;
}

export async function readVariants({ agents, models, prompts, values }: Compared): Promise<Variant[]> {
  const systemPrompts = await Promise.all(prompts.map(readPrompt));
  const variants: Variant[] = [];
  for (const agent of orNone(agents)) {
    for (const requested of orNone(models)) {
      const chosen = {
        ...(agent === undefined ? {} : { agent }),
        ...(requested === undefined ? {} : { model: requested }),
      };
      const request = await readAgentRequest({ ...values, ...chosen });
      const { model } = await chooseModel(request.model);
      checkModelName(model);
      for (const [index, systemPrompt] of orNone(systemPrompts).entries()) {
        const config = systemPrompt === undefined ? request.config : { ...request.config, systemPrompt };
        const parts = [
          ...(agents.length > 1 && agent !== undefined ? [shortName(agent)] : []),
          ...(models.length > 1 ? [model] : []),
          ...(prompts.length > 1 ? [shortName(prompts[index] ?? '')] : []),
        ];
        variants.push({ name: parts.join(', ') || model, model, request: { ...request, config } });
      }
    }
  }
  return variants.map((variant, index) => ({ ...variant, name: uniqueName(variant, index, variants) }));
}

/** One round without the option if it was not given. */
function orNone<Item>(items: readonly Item[]): readonly (Item | undefined)[] {
  return items.length > 0 ? items : [undefined];
}

function shortName(file: string): string {
  return basename(file, extname(file));
}

/** Files in different folders may have the same name. */
function uniqueName({ name }: Variant, index: number, all: readonly Variant[]): string {
  const before = all.slice(0, index).filter((other) => other.name === name).length;
  return before === 0 ? name : `${name} (${before + 1})`;
}

async function readPrompt(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot read the system prompt ${file}: ${errorText(error)}`, {
      cause: error,
    });
  }
}
