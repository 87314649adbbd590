// Loads the agents that a module exports. It is the program of the user, like a file that is given to node.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorText, isRecord, PocketError } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';

/** Makes an agent. Its library may be another copy than ours. */
export type AgentMaker = () => PocketAgent<unknown> | Promise<PocketAgent<unknown>>;

export function isModule(file: string): boolean {
  return /\.[cm]?[jt]s$/.test(file);
}

export async function agentsOf(file: string): Promise<Readonly<Record<string, AgentMaker>>> {
  const example = 'export const agents = { support: () => new PocketAgent(…) }';
  const wrong = (problem: string) => new PocketError('CONFIG_INVALID', `${file} ${problem}: ${example}`);
  if (!existsSync(file)) throw new PocketError('CONFIG_INVALID', `There is no file ${file}.`);
  if (!isModule(file)) {
    const text = `${file} is not a module (.ts, .js, .mts, .mjs, .cts or .cjs), which must export its agents: ${example}`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  let module: unknown;
  try {
    module = await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file} cannot be loaded: ${errorText(error)}`, { cause: error });
  }
  const agents = isRecord(module) ? module.agents : undefined;
  if (!isRecord(agents) || Object.keys(agents).length === 0) throw wrong('must export its agents');
  if (!Object.values(agents).every((make) => typeof make === 'function')) throw wrong('must export functions');
  return agents as Record<string, AgentMaker>;
}
