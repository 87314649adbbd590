// Measures a cold start: `first-answer.ts <contender>` loads a contender and makes one run with a tool; without a name it
// only starts the process. Prints the memory that is used afterwards.
import { type Contender, toolsOf } from '../contenders/contender.ts';
import { contenderModule } from '../contenders/contenders.ts';
import { checked } from '../tasks/loop.ts';

const [name] = process.argv.slice(2);
if (name) {
  const { contender }: { contender: Contender } = await import(contenderModule(name));
  const turns = { steps: 1, calls: 1, deltas: 1 };
  await checked(await contender.inProcess({ turns, tools: toolsOf(1) }), turns);
}
process.stdout.write(String(process.memoryUsage().rss));
process.exit();
