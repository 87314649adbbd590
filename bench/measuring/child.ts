// Makes one measurement and sends it to the parent process: `child.ts <workload> <contender> <effort> [url]`.
import { negotiated } from '../contenders/contender.ts';
import { workloads } from '../tasks/tasks.ts';
import { sendToParent, waitForTurn } from './turn.ts';

const [name = '', contender = '', effort = '', serverUrl] = process.argv.slice(2);
const workload = workloads[name];
if (!workload) throw new Error(`There is no workload "${name}": ${Object.keys(workloads).join(', ')}.`);
process.once('disconnect', () => process.exit()); // when the parent ends
await waitForTurn();
const figures = await workload.measure(contender, JSON.parse(effort), serverUrl);
if (process.send) sendToParent({ figures, revision: negotiated.revision }, () => process.exit());
else {
  console.log(figures);
  process.exit();
}
