// A model that can be replaced between runs while the agent keeps its conversation, tools and totals.
import type { LanguageModel } from './model-names.ts';

export class SwitchableModel implements LanguageModel {
  readonly specificationVersion = 'v4';
  current: LanguageModel;

  constructor(model: LanguageModel) {
    this.current = model;
  }

  get provider(): string {
    return this.current.provider;
  }

  get modelId(): string {
    return this.current.modelId;
  }

  get supportedUrls(): LanguageModel['supportedUrls'] {
    return this.current.supportedUrls;
  }

  doGenerate(options: Parameters<LanguageModel['doGenerate']>[0]): ReturnType<LanguageModel['doGenerate']> {
    return this.current.doGenerate(options);
  }

  doStream(options: Parameters<LanguageModel['doStream']>[0]): ReturnType<LanguageModel['doStream']> {
    return this.current.doStream(options);
  }
}
