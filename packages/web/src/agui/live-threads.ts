// AG-UI threads whose runs live in this process.
import type { PocketAgent } from 'pocket-agent';
import type { LiveRun, PageAnswer } from '../live/live-run.ts';
import { type ConversationRef, LiveRuns } from '../live/live-runs.ts';
import { showsDetails, type WebOptions } from '../live/options.ts';
import { AguiEvents, savedThread } from './agui-events.ts';
import { aguiMessages } from './agui-messages.ts';
import { type AguiThreads, clientRun, type ThreadRun, type ThreadTurn } from './threads.ts';

export class LiveThreads implements AguiThreads {
  readonly #runs: LiveRuns;
  readonly #showsDetails: (name: string) => boolean;

  constructor(agent: PocketAgent<unknown>, options: WebOptions) {
    this.#runs = new LiveRuns(agent, options);
    this.#showsDetails = showsDetails(options);
  }

  async hasStarted(run: ThreadRun): Promise<boolean> {
    const found = this.#runs.find(run);
    return found !== undefined && eventsOf(found).runIds.has(run.runId);
  }

  async start(turn: ThreadTurn): Promise<ReadableStream | Response> {
    const { question, ...request } = turn;
    const { id, content, input } = question;
    const run = await this.#runs.startTurn({
      ...request,
      input,
      makeEncoder: (emit, before) => {
        const messages = [...aguiMessages(before, this.#showsDetails), { id, role: 'user' as const, content }];
        return new AguiEvents({ emit, messages, showsDetails: this.#showsDetails, runId: turn.runId });
      },
    });
    return run instanceof Response ? run : run.replay(eventsOf(run).frame(clientRun(turn), run));
  }

  async answer(request: ThreadRun, answers: readonly PageAnswer[]): Promise<ReadableStream | undefined> {
    const run = this.#runs.find(request);
    if (!run || run.isOver) return undefined;
    const events = eventsOf(run);
    const body = run.follow(events.frame(clientRun(request), run));
    const accepted = answers.filter((answer) => run.answer(answer));
    if (accepted.length > 0) {
      events.runIds.add(request.runId);
      return body;
    }
    await body.cancel();
    return undefined;
  }

  async connect(request: ThreadRun): Promise<ReadableStream> {
    const run = this.#runs.find(request);
    if (run) return run.follow(eventsOf(run).frameWithMessages(clientRun(request), run));
    const messages = await this.#runs.read(request, (agent) => aguiMessages(agent.messages, this.#showsDetails));
    return savedThread(clientRun(request), messages ?? []);
  }

  async stop(ref: ConversationRef): Promise<void> {
    await this.#runs.find(ref)?.stop('The user stopped it.');
  }
}

function eventsOf({ encoder }: LiveRun): AguiEvents {
  if (!(encoder instanceof AguiEvents)) throw new TypeError('This run was not started by an AG-UI handler.');
  return encoder;
}
