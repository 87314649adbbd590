// Twenty steps with a tool of an MCP server in the same process, as the only tool and as one of twenty.
import { type Contender, type Effort, type Figures, toolsOf } from '../contenders/contender.ts';
import { timedTogether } from '../measuring/timing.ts';
import { checked } from './loop.ts';

export async function mcpSteps({ throughMcp }: Contender, effort: Effort): Promise<Figures> {
  const turns = { steps: 20, calls: 1, deltas: 1 };
  const [alone, among] = [
    await throughMcp({ turns, tools: toolsOf(1) }),
    await throughMcp({ turns, tools: toolsOf(20) }),
  ];
  for (const running of [alone, among]) await checked(running, turns);
  const [one, some] = await timedTogether([alone.run, among.run], effort);
  if (!one || !some) throw new Error('A measurement is missing.');
  for (const { close } of [alone, among]) await close?.();
  return { mcpStep: one.cpu / 20, mcpGrowthOf20Tools: some.cpu / one.cpu };
}
