// The program of a cold start: `first-answer.ts <contender>` loads a contender and makes one run with a tool; without a name
// it does nothing. Prints the memory used.
import { type Contender, toolsOf } from '../contenders/contender.ts';
import { contenderModule } from '../contenders/contenders.ts';
import { checkRun } from '../tasks/loop.ts';

const [name] = process.argv.slice(2);
if (name) {
  const { contender }: { contender: Contender } = await import(contenderModule(name));
  const turns = { steps: 1, calls: 1, deltas: 1 };
  await checkRun(await contender.inProcess({ turns, tools: toolsOf(1) }), turns);
}
process.stdout.write(String(process.memoryUsage().rss));
process.exit();
