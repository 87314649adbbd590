// The contenders and their modules.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const us = 'pocket-agent';
/** The hand-written floor, and the floor for MCP, which uses the bare client of the MCP SDK. */
export const floor = 'floor';
export const sdk = 'mcp-sdk';
export const peers = ['ai', 'openai-agents', 'mastra', 'langchain', 'voltagent'];
/** The AI SDK's function instead of its agent class, measured for steps and deltas. */
const generateText = 'generateText';
export const loopPeers = peers.toSpliced(1, 0, generateText);
export const allContenders = [floor, sdk, us, ...loopPeers];

export function peerFolder(peer: string): string {
  return fileURLToPath(new URL(`../peers/${peer === generateText ? 'ai' : peer}/`, import.meta.url));
}

/** Whether the right versions are installed. Contenders that are not peers are part of this repository. */
export function isInstalled(name: string): boolean {
  if (!loopPeers.includes(name)) return true;
  const nameOf = (versioned: string) => versioned.slice(0, versioned.lastIndexOf('@'));
  return packagesOf(name).every((versioned) => versioned === installedIn(peerFolder(name), nameOf(versioned)));
}

/** Returns `name@version`, or only the name if the package is not installed. */
export function installedIn(folder: string, name: string): string {
  const file = `${folder}node_modules/${name}/package.json`;
  return existsSync(file) ? `${name}@${JSON.parse(readFileSync(file, 'utf8')).version}` : name;
}

export function contenderModule(name: string): string {
  if (!allContenders.includes(name)) throw new Error(`There is no contender "${name}": ${allContenders.join(', ')}.`);
  const peerModule = name === generateText ? '../peers/ai/generate-text.ts' : `../peers/${name}/contender.ts`;
  return new URL(loopPeers.includes(name) ? peerModule : `./${name}.ts`, import.meta.url).href;
}

/** The packages of a peer, as `name@version`. */
export function packagesOf(peer: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(`${peerFolder(peer)}package.json`, 'utf8'));
  return Object.entries(dependencies)
    .filter(([name]) => name !== 'zod')
    .map(([name, version]) => `${name}@${version}`);
}
