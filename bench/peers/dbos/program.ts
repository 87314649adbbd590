// The same runs as DBOS workflows. Each answer of the model and each tool call is a step, saved in PostgreSQL.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { measureRuns, STEPS } from '../../runs/measure.ts';

DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: process.argv[2] ?? '',
  systemDatabasePoolSize: 20,
  runAdminServer: false,
  logLevel: 'error',
});
const run = DBOS.registerWorkflow(
  async (input: string) => {
    const messages = [{ role: 'user', text: input }];
    for (;;) {
      const steps = messages.filter(({ role }) => role === 'assistant').length;
      const text = await DBOS.runStep(async () => (steps < STEPS ? 'call pay' : 'done'), { name: 'model' });
      messages.push({ role: 'assistant', text });
      if (text === 'done') return text;
      messages.push({ role: 'tool', text: await DBOS.runStep(async () => 'paid', { name: 'tool' }) });
    }
  },
  { name: 'run' },
);
await DBOS.launch();
await measureRuns(async (workflowID) => (await DBOS.startWorkflow(run, { workflowID })('Pay')).getResult());
await DBOS.shutdown();
process.exit();
