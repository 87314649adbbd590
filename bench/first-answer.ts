// From nothing to an answer: `first-answer.ts <contender>` loads it and makes one run with a tool, `first-answer.ts`
// without a name is the start of the process alone. Writes how much memory it has then.
import { type Contender, toolsOf } from './contender.ts';
import { contenderModule } from './contenders.ts';
import { checked } from './tasks/loop.ts';

const [name] = process.argv.slice(2);
if (name) {
  const { contender }: { contender: Contender } = await import(contenderModule(name));
  const turns = { steps: 1, calls: 1, deltas: 1 };
  await checked(await contender.inProcess({ turns, tools: toolsOf(1) }), turns);
}
process.stdout.write(String(process.memoryUsage().rss));
process.exit();
