// The public names of `pocket-agent/tool-folder`.
export { bundledFolderPath, bundledFolders } from './bundled.ts';
export type { FolderState } from './folder-set.ts';
export { type NewTool, writeNewTool } from './new-tool.ts';
export { type ManifestProblem, problemText, undeclaredText } from './problem.ts';
export type { FolderCallContext } from './running-folder.ts';
export type { ToolFolderServer, ToolFolderServerOptions } from './serve.ts';
export type { HostContext, ToolContext, ToolLogLevel } from './tool-context.ts';
export { loadToolFolder, ToolFolder, type ToolFolderOptions } from './tool-folder.ts';
