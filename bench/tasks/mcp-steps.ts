// Twenty steps whose tool is behind an MCP server of the same process.
import { type Contender, type Effort, type Figures, toolsOf } from '../contender.ts';
import { timed } from '../timing.ts';
import { checked } from './loop.ts';

export async function mcpSteps({ throughMcp }: Contender, effort: Effort): Promise<Figures | undefined> {
  if (!throughMcp) return undefined;
  const turns = { steps: 20, calls: 1, deltas: 1 };
  const running = await throughMcp({ turns, tools: toolsOf(1) });
  await checked(running, turns);
  const { cpu } = await timed(running.run, effort);
  await running.close?.();
  return { mcpStep: cpu / 20 };
}
