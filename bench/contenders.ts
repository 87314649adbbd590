// Who is measured, and where their modules are.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const us = 'pocket-agent';
export const floors = ['floor', 'mcp-sdk'];
export const peers = ['ai', 'openai-agents', 'mastra', 'langchain', 'voltagent'];
export const everybody = [...floors, us, ...peers];

export function peerFolder(peer: string): string {
  return fileURLToPath(new URL(`peers/${peer}/`, import.meta.url));
}

export function isInstalled(peer: string): boolean {
  return existsSync(`${peerFolder(peer)}node_modules`);
}

export function contenderModule(name: string): string {
  if (!everybody.includes(name)) throw new Error(`There is no contender "${name}": ${everybody.join(', ')}.`);
  const path = peers.includes(name) ? `peers/${name}/contender.ts` : `contenders/${name}.ts`;
  return new URL(path, import.meta.url).href;
}

/** `name@version`, the packages a peer is made of. */
export function packagesOf(peer: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(`${peerFolder(peer)}package.json`, 'utf8'));
  return Object.entries(dependencies)
    .filter(([name]) => name !== 'zod')
    .map(([name, version]) => `${name}@${version}`);
}
