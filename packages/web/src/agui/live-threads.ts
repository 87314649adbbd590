// Threads of AG-UI whose runs live in this process.
import type { PocketAgent } from 'pocket-agent';
import type { Answer, LiveRun } from '../live/live-run.ts';
import { type ConversationOf, LiveRuns } from '../live/live-runs.ts';
import { showsTool, type WebOptions } from '../live/options.ts';
import { AguiEvents, type AguiRun, savedThread } from './agui-events.ts';
import { aguiMessages } from './agui-messages.ts';
import type { AguiThreads, ThreadRun, ThreadTurn } from './threads.ts';

export class LiveThreads implements AguiThreads {
  readonly #runs: LiveRuns;
  readonly #showsTool: (name: string) => boolean;

  constructor(agent: PocketAgent<unknown>, options: WebOptions) {
    this.#runs = new LiveRuns(agent, options);
    this.#showsTool = showsTool(options);
  }

  async knows(run: ThreadRun): Promise<boolean> {
    const found = this.#runs.find(run);
    return found !== undefined && eventsOf(found).runIds.has(run.runId);
  }

  async start(turn: ThreadTurn): Promise<ReadableStream | Response> {
    const { caller, id: threadId, runId, question, repeats, traceparent } = turn;
    const { id, content, input } = question;
    const run = await this.#runs.startTurn({
      ...{ caller, id: threadId, input, repeats, traceparent },
      makeEncoder: (emit, before) => {
        const messages = [...aguiMessages(before, this.#showsTool), { id, role: 'user' as const, content }];
        return new AguiEvents({ emit, messages, showsTool: this.#showsTool, runId });
      },
    });
    return run instanceof Response ? run : run.replay(eventsOf(run).frame({ threadId, runId }, run));
  }

  async answer(asked: ThreadRun, answers: readonly Answer[]): Promise<ReadableStream | undefined> {
    const run = this.#runs.find(asked);
    if (!run || run.isOver) return undefined;
    const events = eventsOf(run);
    const body = run.follow(events.frame(clientRun(asked), run));
    const given = answers.filter((answer) => run.answer(answer));
    if (given.length > 0) {
      events.runIds.add(asked.runId);
      return body;
    }
    await body.cancel();
    return undefined;
  }

  async connect(asked: ThreadRun): Promise<ReadableStream> {
    const run = this.#runs.find(asked);
    if (run) return run.follow(eventsOf(run).frameWithMessages(clientRun(asked), run));
    const messages = await this.#runs.read(asked, (agent) => aguiMessages(agent.messages, this.#showsTool));
    return savedThread(clientRun(asked), messages ?? []);
  }

  async stop(of: ConversationOf): Promise<void> {
    await this.#runs.find(of)?.stop('The user stopped it.');
  }
}

function clientRun({ id: threadId, runId }: ThreadRun): AguiRun {
  return { threadId, runId };
}

function eventsOf({ encoder }: LiveRun): AguiEvents {
  if (!(encoder instanceof AguiEvents)) throw new TypeError('This run is not one of AG-UI.');
  return encoder;
}
