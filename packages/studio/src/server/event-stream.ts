// The stream that a page follows: a snapshot, then what happens, as server-sent events.
import type { Workspace } from '../state/workspace.ts';
import type { Line } from '../wire/wire.ts';

/** Keeps proxies and browsers from closing a quiet connection. */
const HEARTBEAT_MS = 15_000;

/** `after`: the last number that the page has; 0 for a new page. */
export function eventStream(workspace: Workspace, after: number): Response {
  const leaving = new AbortController();
  const encoder = new TextEncoder();
  let heartbeat: NodeJS.Timeout | undefined;
  const { journal } = workspace;
  const isReset = journal.hasLost(after);
  const snapshot: Line = {
    seq: isReset ? 0 : after,
    ...{ type: 'snapshot', isReset, last: journal.last, agents: workspace.agents() },
    ...{ hasDurableRuns: workspace.durableSources.length > 0, hasGateways: workspace.gateways !== undefined },
    hasRouters: workspace.hasRouters,
    ...{ chats: workspace.chats(), questions: workspace.questions.list() },
  };
  const lines = journal.follow(isReset ? 0 : after, leaving.signal);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`data: ${JSON.stringify(snapshot)}\n\n`));
      heartbeat = setInterval(() => controller.enqueue(encoder.encode(': \n\n')), HEARTBEAT_MS);
    },
    // called when the page has read what it was sent, so a slow page does not fill the memory
    async pull(controller) {
      const { done, value } = await lines.next();
      if (done) return;
      controller.enqueue(encoder.encode(value.map((line) => `data: ${line}\n\n`).join('')));
    },
    cancel() {
      clearInterval(heartbeat);
      leaving.abort();
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
  });
}
