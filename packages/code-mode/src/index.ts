// The tool run_code: models call tools from JavaScript in a sandbox.
export { codeMode } from './code-mode.ts';
export type { CodeModeOptions } from './options.ts';
