// Calls a model to see whether tools and images work: one short run with a tool, and one with a picture.
import { errorText, stderrLogger } from '@pocket-agent/kit';
import { PocketAgent, tool } from 'pocket-agent';
import type { ModelAbilities } from './model-abilities.ts';

/** A red square. */
const RED =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEXcAAAj6fGOAAAAG0lEQVR42u3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAG9PLePAAAAAElFTkSuQmCC';

export interface CheckedAbilities extends ModelAbilities {
  /** Why the model could not be called. */
  problem?: string;
}

/** Calls the model with a tool and an image. `problem` says why it could not be called. */
export async function checkModel(model: string, signal: AbortSignal): Promise<CheckedAbilities> {
  let isCalled = false;
  const lookUp = tool({
    name: 'look_up_code',
    description: 'Returns the secret code.',
    run: () => {
      isCalled = true;
      return '4711';
    },
  });
  const limits = { maxSteps: 3, modelRetries: 1 };
  const options = { llmModel: model, limits, logger: stderrLogger('silent') };
  try {
    await using agent = new PocketAgent({ ...options, tools: [lookUp] });
    await agent.run('Call the tool look_up_code, then answer with the code.', { signal });
    await using viewer = new PocketAgent({ ...options, allowImages: true });
    const seen = await viewer.run(
      { text: 'Which colour has this image? Answer with one word, in English.', images: [RED] },
      { signal },
    );
    return { tools: isCalled, images: /\bred\b/i.test(seen) };
  } catch (error) {
    signal.throwIfAborted();
    return { ...(isCalled ? { tools: true } : {}), problem: errorText(error) };
  }
}
