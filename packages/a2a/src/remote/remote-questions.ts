// Questions of a remote agent in a call that no model reads, such as one of a script: the person of the run answers them.
import type { ElicitRequest } from '@modelcontextprotocol/client';
import { isRecord, printable, printableText, truncate } from '@pocket-agent/kit';
import type { ElicitationHandler } from 'pocket-agent/internal';
import { ELICITATION_KEY } from '../tasks/shown-questions.ts';
import { type Part, textOfParts } from '../wire/task.ts';

/** Longer texts are truncated, because a person would not read them. */
const MAX_TEXT = 10_000;

const answerSchema = {
  type: 'object' as const,
  properties: { answer: { type: 'string' as const, title: 'Answer' } },
  required: ['answer'],
};

interface AgentQuestion {
  /** The name of the remote agent. */
  name: string;
  parts: readonly Part[];
  elicit: ElicitationHandler;
  signal: AbortSignal;
}

interface Form {
  question: string;
  params: ElicitRequest['params'];
}

/** The parts with the answer; `declined`; or undefined if the person dismisses the question. */
export async function askPerson({
  name,
  parts,
  elicit,
  signal,
}: AgentQuestion): Promise<Part[] | 'declined' | undefined> {
  const from = { server: name, signal };
  const forms = parts.flatMap(({ data }) => formIn(data, name) ?? []);
  if (forms.length === 0) {
    const { action, content } = await elicit(
      { message: questionText(name, textOfParts(parts)), requestedSchema: answerSchema },
      from,
    );
    if (action !== 'accept') return action === 'decline' ? 'declined' : undefined;
    return [{ text: String(content?.answer ?? '') }];
  }
  const answers: Part[] = [];
  for (const { question, params } of forms) {
    const { action, content } = await elicit(params, from);
    if (action === 'cancel') return undefined;
    answers.push({ data: { question, action, ...(content ? { content } : {}) } });
  }
  return answers;
}

/** A form that an MCP server of a remote Pocket Agent asks to fill in. An address to open is shown as text. */
function formIn(data: unknown, name: string): Form | undefined {
  if (!isRecord(data) || typeof data.question !== 'string') return undefined;
  const form = data[ELICITATION_KEY];
  if (!isRecord(form) || typeof form.message !== 'string' || !isRecord(form.requestedSchema)) return undefined;
  const { message, requestedSchema } = form;
  // the handler checks the schema, as it is that of a server
  const params = { message: questionText(name, message), requestedSchema } as unknown as ElicitRequest['params'];
  return { question: data.question, params };
}

function questionText(name: string, text: string): string {
  return `The A2A agent ${printable(name, 100)} asks: ${truncate(printableText(text), MAX_TEXT)}`;
}
