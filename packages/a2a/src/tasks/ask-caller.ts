// A tool with which an agent asks the caller of its task a question in free text, and waits for the answer.
import { PocketError } from '@pocket-agent/kit';
import { type FunctionTool, tool } from 'pocket-agent';
import { currentRun, whileAsking } from 'pocket-agent/internal';
import { ASK_CALLER } from './shown-questions.ts';

const MAX_QUESTION_LENGTH = 10_000;
const answerSchema = {
  type: 'object' as const,
  properties: { answer: { type: 'string' as const, title: 'Answer' } },
  required: ['answer'],
};

/**
 * A tool `ask_caller` for agents that are served over A2A: the task waits in the state `input-required` until the caller has answered.
 * Other front ends of a run show the question as a form with one field.
 */
export function askCaller(): FunctionTool {
  return tool({
    name: ASK_CALLER,
    description:
      'Ask who gave you the task a question, and wait for the answer. Use it only if you cannot continue without the answer.',
    annotations: { readOnlyHint: true }, // it changes nothing, and is asked again after a restart
    inputSchema: {
      type: 'object',
      properties: { question: { type: 'string', minLength: 1, maxLength: MAX_QUESTION_LENGTH } },
      required: ['question'],
      additionalProperties: false,
    },
    run: async ({ question }, { signal }) => {
      const run = currentRun();
      const { elicit } = run ?? {};
      if (!run || !elicit) throw unanswered('There is no one to ask');
      const params = { message: String(question), requestedSchema: answerSchema };
      const answer = await whileAsking(run.asking, async () => elicit(params, { server: ASK_CALLER, signal }));
      const text = answer.action === 'accept' ? answer.content?.answer : undefined;
      if (typeof text === 'string') return text;
      const outcome = answer.action === 'decline' ? 'declined to answer' : 'did not answer';
      throw unanswered(`The caller ${outcome}`);
    },
  });
}

function unanswered(reason: string): PocketError {
  return new PocketError('TOOL_FAILED', `${reason}. Decide yourself, or say in your answer what is missing.`);
}
