// The tool run_code, if a tool of a command is only for code.
import type { ToolFolder } from '@pocket-agent/tool-folder';
import type { ExposureOption, ToolSource } from 'pocket-agent';
import type { AgentRequest } from './agent-request.ts';

type Exposing = Pick<AgentRequest, 'exposure' | 'servers' | 'access'>;

/** Nothing if no exposure is `code`. */
export async function codeModeFor(request: Exposing, folders: readonly ToolFolder[]): Promise<ToolSource[]> {
  const { exposure, servers, access } = request;
  const profile = typeof access.profile === 'object' ? access.profile.exposure : undefined;
  const isNamed = [exposure, profile, ...[...servers.values()].map((entry) => entry.exposure)].some(hasCode);
  if (!isNamed && !folders.some(isForCode)) return [];
  const { codeMode } = await import('@pocket-agent/code-mode');
  return [codeMode()];
}

function hasCode(option: ExposureOption | undefined): boolean {
  return option === 'code' || (typeof option === 'object' && Object.values(option).includes('code'));
}

function isForCode(folder: ToolFolder): boolean {
  return folder.folders.some(({ tools }) => tools.some((tool) => folder.exposure(tool) === 'code'));
}
