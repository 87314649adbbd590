import type { ToolContext } from '@pocket-agent/tool-folder';

export class Tools {
  readonly #context: ToolContext;

  constructor(context: ToolContext) {
    this.#context = context;
  }

  async tool_multiply({ multiplicand, multiplier }: { multiplicand: number; multiplier: number }): Promise<number> {
    this.#context.log('debug', `${multiplicand} times ${multiplier}`);
    return multiplicand * multiplier;
  }
}
