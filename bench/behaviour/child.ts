// Tries one behaviour with one framework: `child.ts <subject> <behaviour>`.
import { peers } from '../contenders/contenders.ts';
import { behaviours } from './behaviours.ts';
import type { Subject } from './subject.ts';

// end this process and its group when the parent ends
process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
const [name = '', id = ''] = process.argv.slice(2);
const file = peers.includes(name) ? `../peers/${name}/subject.ts` : `./${name}.ts`;
const { subject }: { subject: Subject } = await import(new URL(file, import.meta.url).href);
const behaviour = behaviours[id];
if (!behaviour) throw new Error(`There is no behaviour "${id}": ${Object.keys(behaviours).join(', ')}.`);
const outcome = await behaviour.holds(subject).then(
  (holds) => ({ holds, reason: '' }),
  (error: unknown) => ({ holds: false, reason: error instanceof Error ? error.message : String(error) }),
);
if (process.send) process.send(outcome, () => process.exit());
else {
  console.log(outcome);
  process.exit();
}
