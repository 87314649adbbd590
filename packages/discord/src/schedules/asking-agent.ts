// The agent of scheduled runs. It does not answer itself: its run hands the prompt over to the queue of the bot, which answers it
// with the access, budget and recovery of every other question.
import { PocketAgent, type RunOptions, type UserInput } from 'pocket-agent';

export interface ScheduledRun {
  /** The name of its schedule, `@`, and its time. */
  id: string;
  prompt: string;
  /** The author of the schedule. */
  userId: string;
}

/** `ask` may be called again for the same run, after a crash. */
export function askingAgent(ask: (run: ScheduledRun) => Promise<void>): PocketAgent {
  class AskingAgent extends PocketAgent {
    override async run(input: string | UserInput, { caller = '', metadata }: RunOptions = {}): Promise<string> {
      const prompt = typeof input === 'string' ? input : input.text;
      await ask({ id: String(metadata?.run), prompt, userId: caller });
      return 'Asked.';
    }
  }
  return new AskingAgent({ llmModel: 'demo' });
}
