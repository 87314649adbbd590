// The requests about tasks, and calls that may become tasks, on one server object.
import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server';
import { clientCapabilities } from './client-questions.ts';
import type { ServedTasks } from './served-tasks.ts';
import { taskParams } from './wire.ts';

interface TaskServing<Message> {
  tasks: ServedTasks;
  /** Of the tool. */
  name: string;
  schema: StandardSchemaWithJSON<Message>;
  outputSchema: Readonly<Record<string, unknown>> | undefined;
  call(message: Message, context: ServerContext): Promise<CallToolResult | InputRequiredResult>;
}

export function serveTasks<Message>(server: Server, serving: TaskServing<Message>): void {
  const { tasks, name, schema, outputSchema, call } = serving;
  server.setRequestHandler('tasks/get', { params: taskParams }, async ({ taskId }, context) => {
    return { ...(await tasks.get(taskId, context, 'elicitation' in clientCapabilities(server, context))) };
  });
  server.setRequestHandler('tasks/update', { params: taskParams }, async ({ taskId }, context) => {
    await tasks.answer(taskId, context);
    return {};
  });
  server.setRequestHandler('tasks/cancel', { params: taskParams }, async ({ taskId }, context) => {
    await tasks.cancel(taskId, context);
    return {};
  });
  // McpServer demands structured content of every result if the tool has an output schema, also of one that names a task
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    if (params.name !== name) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${params.name} not found`);
    const read = await schema['~standard'].validate(params.arguments ?? {});
    if (read.issues) {
      const reasons = read.issues.map(({ message }) => message).join('; ');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid arguments for tool ${name}: ${reasons}`);
    }
    const result = await call(read.value, context);
    return isInputRequiredResult(result) ? result : server.projectCallToolResult(result, outputSchema);
  });
}
