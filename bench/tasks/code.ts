// Code mode: the tokens of a task over 500 records, and the time of a call inside code.
import { codeMode } from '@pocket-agent/code-mode';
import { type FunctionTool, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { ordersTask } from '../../packages/code-mode/test/fixtures/orders.ts';
import type { Effort, Figures } from '../contenders/contender.ts';
import { median } from '../measuring/timing.ts';

const CALLS = 500;

export async function code({ moments }: Effort): Promise<Figures> {
  const { tokens: directTokens } = await ordersTask('direct');
  const { tokens: codeTokens } = await ordersTask('code');
  const calls = Array.from({ length: CALLS }, () => ({ name: 'tick', arguments: {} }));
  const script = `for (let call = 0; call < ${CALLS}; call++) await tools.tick({});`;
  const differences: number[] = [];
  for (let moment = 0; moment <= moments; moment++) {
    const direct = await betweenCalls(calls, []);
    const inCode = await betweenCalls([{ name: 'run_code', arguments: { code: script } }], [codeMode()]);
    if (moment > 0) differences.push(inCode - direct); // the first time is a warm-up
  }
  return { codeTokens: codeTokens / directTokens, codeCall: median(differences) };
}

/** The median time from one tool call to the next, in milliseconds, when calls are made one after another. */
async function betweenCalls(toolCalls: { name: string; arguments: object }[], more: ReturnType<typeof codeMode>[]) {
  const times: number[] = [];
  const tick: FunctionTool = tool({
    name: 'tick',
    description: 'Ticks',
    capability: 'read',
    run: () => void times.push(performance.now()),
  });
  const model = new ScriptedModel([{ toolCalls: toolCalls as { name: string }[] }, 'done']);
  await using agent = new PocketAgent({ llmModel: model, tools: [tick, ...more], limits: { maxParallelToolCalls: 1 } });
  await agent.run('go');
  if (times.length !== CALLS) throw new Error(`${times.length} of ${CALLS} calls were made.`);
  return median(times.slice(1).map((time, index) => time - (times[index] as number)));
}
