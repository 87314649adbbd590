// A scripted chat model for LangChain.
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import type { ModelInput, Script, Turn } from '../../contenders/script.ts';

export class ScriptModel extends BaseChatModel {
  readonly #script: Script;
  #offered: string[] = [];

  constructor(script: Script) {
    super({});
    this.#script = script;
  }

  override _llmType(): string {
    return 'script';
  }

  override bindTools(tools: { name?: string }[]): this {
    this.#offered = tools.map(({ name = '' }) => name);
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const turn = this.#script.next(this.#modelInput(messages));
    const text = turn.deltas.join('');
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls: toolCalls(turn) }) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const turn = this.#script.next(this.#modelInput(messages));
    const chunk = (text: string, more: object = {}) =>
      new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text, ...more }) });
    if (turn.calls.length > 0) yield chunk('', { tool_calls: toolCalls(turn) });
    for (const delta of turn.deltas) {
      const next = chunk(delta);
      yield next;
      await runManager?.handleLLMNewToken(delta, undefined, undefined, undefined, undefined, { chunk: next });
    }
  }

  #modelInput(messages: BaseMessage[]): ModelInput {
    return {
      offered: () => this.#offered,
      results: () =>
        messages.flatMap((message): [string, string][] =>
          message instanceof ToolMessage ? [[message.tool_call_id, JSON.stringify(message.content)]] : [],
        ),
    };
  }
}

function toolCalls({ calls }: Turn) {
  return calls.map(({ id, name, arguments: args }) => ({
    id,
    name,
    args: JSON.parse(args),
    type: 'tool_call' as const,
  }));
}
