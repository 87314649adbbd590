// The public names of `@pocket-agent/web`.
export { type AguiHandlerOptions, aguiHandler } from './agui/agui-handler.ts';
export { type ChatHandlerOptions, chatHandler } from './chat/chat-handler.ts';
export type {
  DurableChatOptions,
  WebRun,
  WebRunAnswer,
  WebRunEvent,
  WebRunQuestion,
  WebRuns,
} from './durable/durable-options.ts';
export type { Authorize, WebCaller } from './live/caller.ts';
export type { WebHandler } from './live/options.ts';
