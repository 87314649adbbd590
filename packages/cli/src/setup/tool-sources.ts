// Loads the tool folders, the skills and the other tools of a command. Included folders are given by name, others by path.
import { existsSync } from 'node:fs';
import { abortable, type Logger, PocketError } from '@pocket-agent/kit';
import {
  bundledFolderPath,
  bundledFolders,
  type SkillFolders,
  type ToolFolder,
  type ToolFolderOptions,
} from '@pocket-agent/tool-folder';
import type { AgentMemory, ExposureOption, Skill, ToolSource } from 'pocket-agent';
import { memorySource, providerToolSource } from 'pocket-agent/internal';
import type { AgentRequest } from './agent-request.ts';

/** `web` is the included folder; `./web` is your own. */
export function toolFolderPath(name: string): string {
  const path = bundledFolderPath(name) ?? name;
  if (existsSync(path)) return path;
  throw new PocketError(
    'CONFIG_INVALID',
    `There is no tool folder ${name}: give a path, or one of ${bundledFolders.join(', ')}.`,
  );
}

export interface LoadedFolders {
  folders: ToolFolder[];
  /** Problems of folders that could not be loaded, one line each. */
  problems: string[];
  /** One line for each folder with tools that declare no capability. */
  warnings: string[];
}

export interface LoadOptions extends ToolFolderOptions {
  signal: AbortSignal;
}

/** A broken folder does not hide the others. A path without any tool folder is an error. */
export async function loadFolders(
  names: readonly string[],
  { signal, ...options }: LoadOptions,
): Promise<LoadedFolders> {
  if (names.length === 0) return { folders: [], problems: [], warnings: [] };
  const { loadToolFolder, problemText, undeclaredText } = await import('@pocket-agent/tool-folder');
  const folders = names.map((name) => loadToolFolder(toolFolderPath(name), options));
  try {
    const problems: string[] = [];
    const warnings: string[] = [];
    for (const [index, folder] of folders.entries()) {
      const states = await abortable(folder.load(), signal);
      if (states.length === 0) {
        throw new PocketError(
          'CONFIG_INVALID',
          `There is no tool folder in ${names[index]}: pocket-agent new-tool NAME --dir ${names[index]} creates one.`,
        );
      }
      problems.push(...states.flatMap((state) => state.problems.map(problemText)));
      warnings.push(...states.flatMap((state) => undeclaredText(state, '--default-capability') ?? []));
    }
    return { folders, problems, warnings };
  } catch (error) {
    // after an abort, do not wait: an import cannot be stopped
    if (!signal.aborted) await closeFolders(folders);
    throw error;
  }
}

export interface LoadedSources extends LoadedFolders {
  skills: SkillFolders | undefined;
  /** The folders, the skills, the tools of the provider, those of the memory, and run_code. */
  sources: ToolSource[];
}

interface SourceOptions {
  logger: Logger;
  signal: AbortSignal;
  /** Opens the memory at the first call of its tools; not needed by a command that only lists them. */
  openMemory?(): Promise<AgentMemory>;
}

/** The tools that a request names, except those of MCP servers. */
export async function loadSources(
  request: AgentRequest,
  { logger, signal, openMemory = noMemory }: SourceOptions,
): Promise<LoadedSources> {
  const { toolFolders, folderOptions, skills: paths, providerTools, memory } = request;
  const loaded = await loadFolders(toolFolders, { ...folderOptions, logger, signal });
  try {
    const { skills, problems, warnings } = await loadSkills(paths, { logger, signal });
    const all = [...loaded.folders, ...(skills ? [skills] : [])].flatMap((source) => source.skills);
    return {
      folders: loaded.folders,
      skills,
      sources: [
        ...loaded.folders,
        ...(skills ? [skills] : []),
        ...(providerTools.length > 0 ? [providerToolSource(providerTools)] : []),
        ...(memory ? [memorySource(openedAtUse(openMemory))] : []),
        ...(await codeModeFor(request, loaded.folders)),
      ],
      problems: [...loaded.problems, ...problems, ...(await duplicateTexts(all))],
      warnings: [...loaded.warnings, ...warnings],
    };
  } catch (error) {
    if (!signal.aborted) await closeFolders(loaded.folders);
    throw error;
  }
}

/** The tool run_code, if a tool is only for code. */
async function codeModeFor(request: AgentRequest, folders: readonly ToolFolder[]): Promise<ToolSource[]> {
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

async function duplicateTexts(skills: readonly Skill[]): Promise<string[]> {
  if (skills.length < 2) return [];
  const { duplicateSkills, problemText } = await import('@pocket-agent/tool-folder');
  return duplicateSkills(skills).map(problemText);
}

async function noMemory(): Promise<never> {
  throw new PocketError('CONFIG_INVALID', 'This command does not open the memory.');
}

function openedAtUse(open: () => Promise<AgentMemory>): AgentMemory {
  return {
    remember: async (memory) => (await open()).remember(memory),
    recall: async (query) => (await open()).recall(query),
    forget: async (memory) => (await open()).forget(memory),
  };
}

/** A broken skill does not hide the others. A path without any skill is an error. */
export async function loadSkills(
  paths: readonly string[],
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<{ skills: SkillFolders | undefined; problems: string[]; warnings: string[] }> {
  if (paths.length === 0) return { skills: undefined, problems: [], warnings: [] };
  const { problemText, skills: skillsOf } = await import('@pocket-agent/tool-folder');
  const skills = skillsOf(paths, { logger });
  await abortable(skills.load(), signal);
  const { emptyPaths } = skills;
  if (emptyPaths.length > 0) {
    const text = `There are no skills in ${emptyPaths.join(', ')}: a skill is a folder with a SKILL.md.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  return { skills, problems: skills.problems.map(problemText), warnings: skills.warnings.map(problemText) };
}

export async function closeFolders(folders: readonly ToolFolder[]): Promise<void> {
  await Promise.all(folders.map((folder) => folder.close()));
}
