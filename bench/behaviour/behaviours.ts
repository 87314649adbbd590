// The behaviours that are compared. Each runs against real servers, and returns true, returns false or throws a reason.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { observer } from '../../packages/pocket-agent/test/fixtures/programs/observer.ts';
import { startLegacyHost, startModernHost } from '../../packages/pocket-agent/test/fixtures/servers/http-hosts.ts';
import type { Endpoint } from '../contenders/contender.ts';
import { startGrowingHost } from './growing-host.ts';
import { isAlive, waitUntil } from './processes.ts';
import { Conversation, type Session, type Subject, type WantedCall } from './subject.ts';
import { manyTools, startToolsHost } from './tools-host.ts';

export interface Behaviour {
  title: string;
  /** For frameworks that are not run: what their documentation or source says. */
  documented?: Readonly<Record<string, 'no' | '—'>>;
  holds(subject: Subject): Promise<boolean>;
}

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const echo: WantedCall = { tool: 'echo', args: { text: 'still here' } };
const MAX_RESULT = 500_000;

function openSession(subject: Subject, servers: Record<string, Endpoint>): Promise<Session> {
  return subject.open({ servers, name: 'Ada', traceparent });
}

/** Makes the calls in one step, and returns the text of all results. */
async function resultsOf(session: Session, ...calls: WantedCall[]): Promise<string> {
  const conversation = new Conversation(calls);
  await session.run(conversation);
  return conversation.text;
}

const hosts = { 2025: startLegacyHost, 2026: startModernHost };
type Era = keyof typeof hosts;

/** A stdio server whose only tool returns its process id. With `file` it also starts a child, and writes both ids there. */
function child(era: Era, file = ''): Endpoint {
  const path = fileURLToPath(new URL('stdio-server.ts', import.meta.url));
  return { command: process.execPath, args: [path, String(era), file] };
}

function abortReaches(era: Era): Behaviour {
  return {
    title: `an abort reaches a ${era} server`,
    async holds(subject) {
      const observed = observer();
      const { url } = await hosts[era]({ observed });
      const session = await openSession(subject, { tools: { url } });
      const abort = new AbortController();
      const run = session.run(new Conversation([{ tool: 'wait' }]), abort.signal).catch(() => {});
      await waitUntil(() => observed.started.length > 0);
      abort.abort(new Error('enough'));
      await Promise.race([run, pause(2_000)]);
      return waitUntil(() => observed.cancelled.includes('wait'));
    },
  };
}

function elicitation(era: Era): Behaviour {
  return {
    title: `a question from a ${era} server is answered (elicitation)`,
    async holds(subject) {
      const { url } = await hosts[era]();
      return (await resultsOf(await openSession(subject, { tools: { url } }), { tool: 'ask' })).includes('hello Ada');
    },
  };
}

function restarted(era: Era): Behaviour {
  return {
    title: `works again after a ${era} server restarts`,
    async holds(subject) {
      const first = await hosts[era]();
      const session = await openSession(subject, { tools: { url: first.url } });
      await resultsOf(session, echo);
      await first.close();
      await hosts[era]({ port: first.port });
      await withRetries(async () => {
        const text = await resultsOf(session, echo);
        if (!text.includes('still here')) throw new Error(text); // many frameworks return errors as results
      });
      return true;
    },
  };
}

function deadServer(era: Era): Behaviour {
  return {
    title: `one of two servers is dead: the tools of the other, a ${era} server, still work`,
    async holds(subject) {
      const { url } = await hosts[era]();
      const session = await openSession(subject, { dead: { url: 'http://127.0.0.1:9/mcp' }, tools: { url } });
      return (await resultsOf(session, echo)).includes('still here');
    },
  };
}

/** A session with a server, and a function that adds the tool `grown` to that server. */
async function growing(subject: Subject, era: Era) {
  const { url, seen, grow } = await (era === 2025 ? startGrowingHost() : startModernHost());
  return { seen, session: await openSession(subject, { tools: { url } }), grow };
}

function newTool(era: Era): Behaviour {
  return {
    title: `a tool that a ${era} server adds is available in the next runs, by notification or by listing again`,
    async holds(subject) {
      const { session, grow } = await growing(subject, era);
      await resultsOf(session, echo);
      grow();
      return becomesOffered(session, 'grown');
    },
  };
}

function listChanged(era: Era): Behaviour {
  return {
    title: `a \`list_changed\` notification of a ${era} server is enough: tools are not listed again for every run`,
    async holds(subject) {
      const { seen, session, grow } = await growing(subject, era);
      const lists = () => seen.filter(({ method }) => method === 'tools/list').length;
      await resultsOf(session, echo);
      const before = lists();
      await resultsOf(session, echo);
      if (lists() > before) return false;
      grow();
      return becomesOffered(session, 'grown');
    },
  };
}

function largeResult(era: Era): Behaviour {
  return {
    title: `a 2 MB result of a ${era} server is truncated to at most ${MAX_RESULT.toLocaleString('en')} characters for the model`,
    async holds(subject) {
      const { url } = await startToolsHost(era);
      const text = await resultsOf(await openSession(subject, { tools: { url } }), { tool: 'large' });
      return text.includes('xxx') && text.length < MAX_RESULT;
    },
  };
}

function oneOfThreeFails(era: Era): Behaviour {
  return {
    title: `one of three parallel calls to a ${era} server fails: all are answered, the model reads the reason, the run continues`,
    async holds(subject) {
      const { url } = await startToolsHost(era);
      const conversation = new Conversation([{ tool: 'good' }, { tool: 'weak' }, { tool: 'good' }], [{ tool: 'good' }]);
      await (await openSession(subject, { tools: { url } })).run(conversation);
      const ids = conversation.results.map(([id]) => id).join();
      const [first, second, third, last] = conversation.results.map(([, text]) => text);
      const areGood = [first, third, last].every((text) => text?.includes('all is well'));
      return ids === 'call-1,call-2,call-3,call-4' && areGood && (second?.includes('the disk is full') ?? false);
    },
  };
}

function crashedChild(era: Era): Behaviour {
  return {
    title: `a ${era} stdio server is started again after a crash`,
    async holds(subject) {
      const session = await openSession(subject, { tools: child(era) });
      const pid = await pidOf(session);
      process.kill(pid, 'SIGKILL');
      await waitUntil(() => !isAlive(pid));
      const other = await withRetries(() => pidOf(session));
      await session.close();
      return other !== pid;
    },
  };
}

function orphans(era: Era): Behaviour {
  return {
    title: `at close, no process of a ${era} stdio server is left, even if it ignores SIGTERM`,
    async holds(subject) {
      const folder = mkdtempSync(join(tmpdir(), 'behaviour-'));
      const file = join(folder, 'pids');
      const session = await openSession(subject, { tools: child(era, file) });
      await pidOf(session);
      const pids: number[] = JSON.parse(readFileSync(file, 'utf8'));
      await session.close();
      const areGone = await waitUntil(() => !pids.some(isAlive));
      for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
      rmSync(folder, { recursive: true });
      return areGone;
    },
  };
}

function progressToken(era: Era): Behaviour {
  return {
    title: `a progress token reaches a ${era} server`,
    async holds(subject) {
      const { url } = await hosts[era]();
      return (await resultsOf(await openSession(subject, { tools: { url } }), { tool: 'meta' })).includes(
        'progressToken',
      );
    },
  };
}

function traceContext(era: Era): Behaviour {
  return {
    title: `the caller's trace context reaches a ${era} server, in \`_meta\` or as a header`,
    async holds(subject) {
      const { url, seen } = await hosts[era]();
      const text = await resultsOf(await openSession(subject, { tools: { url } }), { tool: 'meta' });
      const sent = seen.filter(({ method }) => method === 'tools/call').map(({ headers }) => headers.traceparent);
      return text.includes(traceparent) || sent.includes(traceparent);
    },
  };
}

/** Lets a model search 300 tools. Returns its first tools and the results. `delete_invoice` is forbidden. */
async function searched(subject: Subject, ...turns: WantedCall[][]) {
  const { url } = await startToolsHost(2025, manyTools());
  const session = await subject.open({
    servers: { tools: { url } },
    name: 'Ada',
    traceparent,
    refused: 'delete_invoice',
  });
  const conversation = new Conversation(...turns);
  await session.run(conversation);
  return { offered: conversation.offeredFirst ?? [], text: conversation.text };
}

export const behaviours: Record<string, Behaviour> = {
  modernOnly: {
    title: 'a server that speaks only 2026-07-28',
    async holds(subject) {
      const { url } = await startModernHost();
      return (await resultsOf(await openSession(subject, { tools: { url } }), echo)).includes('still here');
    },
  },
  restart2025: restarted(2025),
  restart2026: restarted(2026),
  abort2025: abortReaches(2025),
  abort2026: abortReaches(2026),
  elicitation2025: elicitation(2025),
  elicitation2026: elicitation(2026),
  deadServer2025: deadServer(2025),
  deadServer2026: deadServer(2026),
  newTool2025: newTool(2025),
  newTool2026: newTool(2026),
  listChanged2025: listChanged(2025),
  listChanged2026: listChanged(2026),
  largeResult2025: largeResult(2025),
  largeResult2026: largeResult(2026),
  oneOfThreeFails2025: oneOfThreeFails(2025),
  oneOfThreeFails2026: oneOfThreeFails(2026),
  toolSearch: {
    title:
      'of 300 tools fewer than ten are in the first prompt; with any model, a search finds the right one, which is called',
    async holds(subject) {
      if (!subject.search) return false;
      const { offered, text } = await searched(subject, ...subject.search('create an invoice', 'create_invoice'));
      return offered.length < 10 && text.includes('create_invoice was called');
    },
  },
  refusedSearch: {
    title: 'that search finds no tool that may not be used',
    async holds(subject) {
      const [search] = subject.search?.('delete an invoice', 'delete_invoice') ?? [];
      if (!search) return false;
      const { text } = await searched(subject, search);
      return text.includes('_invoice') && !text.includes('delete_invoice');
    },
  },
  approvalInCode: {
    title:
      'code that the model writes calls a tool that needs an approval: a person is asked, and a denied call is not made',
    documented: { ai: 'no', 'openai-agents': '—', mastra: 'no', langchain: 'no', voltagent: '—' },
    async holds(subject) {
      if (!subject.inCode) return false;
      let erased = 0;
      const { url } = await startToolsHost(2025, { erase: () => `erased ${++erased}` });
      const asked: string[] = [];
      const denied = { tool: 'erase', asked: (tool: string) => void asked.push(tool) };
      const session = await subject.open({ servers: { tools: { url } }, name: 'Ada', traceparent, denied });
      const text = await resultsOf(session, subject.inCode('erase'));
      return asked.includes('erase') && erased === 0 && text.includes('not called');
    },
  },
  sessionClosed: {
    title: 'close ends the session on the server',
    async holds(subject) {
      const host = await startLegacyHost();
      const session = await openSession(subject, { tools: { url: host.url } });
      await resultsOf(session, echo);
      await session.close();
      return waitUntil(() => host.seen.some(({ verb }) => verb === 'DELETE'));
    },
  },
  progressToken2025: progressToken(2025),
  progressToken2026: progressToken(2026),
  traceparent2025: traceContext(2025),
  traceparent2026: traceContext(2026),
  crashedChild2025: crashedChild(2025),
  crashedChild2026: crashedChild(2026),
  orphans2025: orphans(2025),
  orphans2026: orphans(2026),
};

async function pidOf(session: Session): Promise<number> {
  const text = await resultsOf(session, { tool: 'pid' });
  const pid = Number(/(?<!\d)\d{2,}(?!\d)/.exec(text)?.[0]);
  // an error message may contain other numbers
  if (!pid || !isAlive(pid)) throw new Error(`No process id in ${text.slice(0, 200)}.`);
  return pid;
}

/** Makes up to three attempts. */
async function withRetries<Value>(attempt: () => Promise<Value>): Promise<Value> {
  for (let failed = 0; failed < 2; failed++) {
    try {
      return await attempt();
    } catch {
      await pause(300);
    }
  }
  return attempt();
}

/** Whether one of the next runs offers the tool. A notification needs a moment to arrive. */
async function becomesOffered(session: Session, tool: string): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const conversation = new Conversation();
    await session.run(conversation);
    if (conversation.offered.some((name) => name.endsWith(tool))) return true;
    await pause(100);
  }
  return false;
}
