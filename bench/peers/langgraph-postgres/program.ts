// The same runs as a LangGraph graph with checkpoints in PostgreSQL. `sync` saves each checkpoint before the next step begins.
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { measureRuns, STEPS } from '../../runs/measure.ts';

interface Message {
  role: string;
  text: string;
}

const State = Annotation.Root({
  messages: Annotation<Message[]>({ reducer: (before, added) => [...before, ...added], default: () => [] }),
});
const isDone = ({ messages }: { messages: Message[] }) => messages.at(-1)?.text === 'done';
const saver = PostgresSaver.fromConnString(process.argv[2] ?? '');
await saver.setup();
const graph = new StateGraph(State)
  .addNode('model', async ({ messages }) => {
    const steps = messages.filter(({ role }) => role === 'assistant').length;
    return { messages: [{ role: 'assistant', text: steps < STEPS ? 'call pay' : 'done' }] };
  })
  .addNode('tool', async () => ({ messages: [{ role: 'tool', text: 'paid' }] }))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (isDone(state) ? END : 'tool'))
  .addEdge('tool', 'model')
  .compile({ checkpointer: saver });
await measureRuns(async (id) => {
  const input = { messages: [{ role: 'user', text: 'Pay' }] };
  const options = { configurable: { thread_id: id }, durability: 'sync' as const, recursionLimit: 100 };
  return (await graph.invoke(input, options)).messages.at(-1)?.text;
});
process.exit();
