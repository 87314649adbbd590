// The public names of `@pocket-agent/tool-folder`.
export type { Skill } from 'pocket-agent';
export { bundledFolderPath, bundledFolders } from './bundled.ts';
export { JoinedFolders } from './joined-folders.ts';
export { type ManifestProblem, problemText, undeclaredText } from './manifest/problem.ts';
export { type NewTool, testCommand, writeNewTool } from './new-tool.ts';
export type { FolderState } from './running/folder-set.ts';
export type { FolderCallContext } from './running/running-folder.ts';
export type { HostContext, ToolContext, ToolLogLevel } from './running/tool-context.ts';
export { SkillFolders, type SkillsOptions, skills } from './skill-folders.ts';
export { duplicateSkills } from './skills/skill-tools.ts';
export { loadToolFolder, ToolFolder } from './tool-folder.ts';
export type { ToolFolderOptions } from './tool-folder-options.ts';
export type { ToolFolderServer, ToolFolderServerOptions } from './tool-folder-server.ts';
