// What `pocket-agent eval` compares: every agent with every model and every system prompt that was given.
import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import type { ProfileName } from 'pocket-agent';
import { checkModelName, readProfile } from 'pocket-agent/internal';
import { type AgentMaker, agentsOf, isModule } from '../setup/agent-module.ts';
import { type AgentRequest, type AgentValues, readAgentRequest, sourceFlags } from '../setup/agent-request.ts';
import { chooseModel } from '../setup/choose-model.ts';

export type Variant = RequestedVariant | ModuleVariant;

/** An agent that options and agent files describe. */
export interface RequestedVariant {
  /** What distinguishes it from the other variants; the model if there are no others. */
  name: string;
  model: string;
  request: AgentRequest;
}

/** An agent that a module makes. */
export interface ModuleVariant {
  name: string;
  /** Instead of the model of the agent. */
  model: string | undefined;
  make: AgentMaker;
  profile: ProfileName | undefined;
}

export interface Compared {
  /** Agent files and modules. */
  agents: readonly string[];
  models: readonly string[];
  /** Files with system prompts. */
  prompts: readonly string[];
  /** The other options. */
  values: Omit<AgentValues, 'agent' | 'model'>;
}

const { agent: _, ...sources } = sourceFlags;
/** Options that do not apply to the agent of a module. */
const ofFiles = ['confirm', ...(Object.keys(sources) as (keyof typeof sources)[])] as const;

export async function readVariants(compared: Compared): Promise<Variant[]> {
  const variants: Variant[] = [];
  for (const agent of orNone(compared.agents)) {
    const read =
      agent !== undefined && isModule(agent) ? moduleVariants(agent, compared) : fileVariants(agent, compared);
    variants.push(...(await read));
  }
  return variants.map((variant, index) => ({ ...variant, name: uniqueName(variant, index, variants) }));
}

async function fileVariants(agent: string | undefined, compared: Compared): Promise<RequestedVariant[]> {
  const { agents, models, prompts, values } = compared;
  const systemPrompts = await Promise.all(prompts.map(readPrompt));
  const variants: RequestedVariant[] = [];
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
  return variants;
}

async function moduleVariants(file: string, { agents, models, prompts, values }: Compared): Promise<ModuleVariant[]> {
  const { profile } = values;
  const option = prompts.length > 0 ? 'system-prompt' : ofFiles.find((name) => values[name] !== undefined);
  if (option !== undefined)
    throw new PocketError(
      'CONFIG_INVALID',
      `--${option} is for agent files. The agents of ${file} are made by its code.`,
    );
  if (profile !== undefined) readProfile(profile as ProfileName);
  for (const model of models) checkModelName(model);
  const made = Object.entries(await agentsOf(file));
  return made.flatMap(([agent, make]) =>
    orNone(models).map((model) => {
      const parts = [
        ...(agents.length > 1 || made.length > 1 ? [agent] : []),
        ...(model !== undefined && models.length > 1 ? [model] : []),
      ];
      const name = parts.join(', ') || (model ?? agent);
      return { name, model, make, profile: profile as ProfileName | undefined };
    }),
  );
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
