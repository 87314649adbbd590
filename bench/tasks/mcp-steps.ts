// Twenty steps with a tool of an MCP server in the same process, as the only tool and as one of twenty.
import { type Contender, type Effort, type Figures, toolsOf } from '../contenders/contender.ts';
import { timedTogether } from '../measuring/timing.ts';
import { checkRun } from './loop.ts';

export async function mcpSteps({ throughMcp }: Contender, effort: Effort): Promise<Figures> {
  const turns = { steps: 20, calls: 1, deltas: 1 };
  const [alone, amongTwenty] = [
    await throughMcp({ turns, tools: toolsOf(1) }),
    await throughMcp({ turns, tools: toolsOf(20) }),
  ];
  for (const running of [alone, amongTwenty]) await checkRun(running, turns);
  const [one, some] = await timedTogether([alone.run, amongTwenty.run], effort);
  if (!one || !some) throw new Error('A measurement is missing.');
  for (const { close } of [alone, amongTwenty]) await close?.();
  return { mcpStep: one.cpu / 20, mcpGrowthOf20Tools: some.cpu / one.cpu };
}
