// The model of a chat, which can be replaced between runs.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { LanguageModel } from 'pocket-agent';

export class ChatModel implements LanguageModel {
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

  doGenerate(options: LanguageModelV4CallOptions) {
    return this.current.doGenerate(options);
  }

  doStream(options: LanguageModelV4CallOptions) {
    return this.current.doStream(options);
  }
}
