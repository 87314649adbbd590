// Makes one measurement and sends it to the parent process: `child.ts <work> <contender> <effort> [url]`.
import { spoken } from '../contenders/contender.ts';
import { works } from '../tasks/tasks.ts';
import { pause, tell } from './turn.ts';

const [name = '', contender = '', effort = '', serverUrl] = process.argv.slice(2);
const work = works[name];
if (!work) throw new Error(`There is no work "${name}": ${Object.keys(works).join(', ')}.`);
process.once('disconnect', () => process.exit()); // the parent has ended
await pause();
const figures = await work.measure(contender, JSON.parse(effort), serverUrl);
if (process.send) tell({ figures, revision: spoken.revision }, () => process.exit());
else {
  console.log(figures);
  process.exit();
}
