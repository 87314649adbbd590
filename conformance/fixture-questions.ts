// Fixtures of the conformance suite: tools that ask the client for user input, sampling or roots, in both eras.
import {
  acceptedContent,
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { text } from './fixture-tools.ts';

type Form = Parameters<typeof inputRequired.elicit>[0];

export const states = createRequestStateCodec<{ step: string }>({
  key: 'only the conformance suite uses this key',
});

const nameSchema = z.object({ name: z.string() });
const colorSchema = z.object({ color: z.string() });
const okSchema = z.object({ ok: z.boolean() });

const askName = inputRequired.elicit({ message: 'What is your name?', requestedSchema: nameSchema });
const askOk = inputRequired.elicit({ message: 'Please confirm', requestedSchema: okSchema });

const askModel = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens,
  });

/** Tools that ask the client's user or model. In the 2025 era the SDK sends the returned questions as requests. */
export function addQuestionTools(server: McpServer): void {
  const addForm = (name: string, form: Form) => {
    server.registerTool(name, { description: 'Asks the user' }, (context) => {
      const answer = inputResponse(context.mcpReq.inputResponses, 'answer');
      if (answer.kind !== 'elicit') return inputRequired({ inputRequests: { answer: inputRequired.elicit(form) } });
      return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
    });
  };
  addForm('test_elicitation_sep1034_defaults', defaultsForm);
  addForm('test_elicitation_sep1330_enums', enumsForm);
  addForm('test_streaming_elicitation', { message: 'Please confirm', requestedSchema: okSchema });
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user', inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) => {
      const answer = inputResponse(context.mcpReq.inputResponses, 'answer');
      if (answer.kind === 'elicit') return text(`User response: ${JSON.stringify(answer)}`);
      const requestedSchema = z.object({
        username: z.string().describe("User's response"),
        email: z.string().describe("User's email address"),
      });
      return inputRequired({ inputRequests: { answer: inputRequired.elicit({ message, requestedSchema }) } });
    },
  );
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, context) => {
      const answer = inputResponse(context.mcpReq.inputResponses, 'answer');
      if (answer.kind === 'sampling') return text(`LLM response: ${JSON.stringify(answer.result.content)}`);
      return inputRequired({ inputRequests: { answer: askModel(prompt, 100) } });
    },
  );
  // the suite calls this tool as a client without sampling, which must not receive the question
  server.registerTool('test_missing_capability', { description: 'Asks the model of the client' }, () =>
    inputRequired({ inputRequests: { answer: askModel('Are you there?', 10) } }),
  );
}

function capabilitiesOf(context: ServerContext): { sampling?: unknown; elicitation?: unknown } {
  const meta: Record<string, unknown> = { ...context.mcpReq.envelope };
  const capabilities = meta['io.modelcontextprotocol/clientCapabilities'];
  return typeof capabilities === 'object' && capabilities !== null ? capabilities : {};
}

const defaultsForm: Form = {
  message: 'Check what is filled in',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
  },
};

const enumsForm: Form = {
  message: 'Choose',
  requestedSchema: {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: {
        type: 'string',
        oneOf: [
          { const: 'value1', title: 'First Option' },
          { const: 'value2', title: 'Second Option' },
          { const: 'value3', title: 'Third Option' },
        ],
      },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: {
        type: 'array',
        items: {
          anyOf: [
            { const: 'value1', title: 'First Choice' },
            { const: 'value2', title: 'Second Choice' },
            { const: 'value3', title: 'Third Choice' },
          ],
        },
      },
    },
  },
};

/** Tools of the 2026 era that return questions until they have all answers. */
export function addInputRequiredTools(server: McpServer): void {
  const description = 'Asks before it answers';
  server.registerTool('test_input_required_result_elicitation', { description }, (context) => {
    const known = acceptedContent(context.mcpReq.inputResponses, 'user_name', nameSchema);
    return known ? text(`Hello, ${known.name}!`) : inputRequired({ inputRequests: { user_name: askName } });
  });
  server.registerTool('test_input_required_result_sampling', { description }, (context) => {
    const answer = inputResponse(context.mcpReq.inputResponses, 'capital_question');
    if (answer.kind === 'sampling') return text(JSON.stringify(answer.result.content));
    return inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?', 100) } });
  });
  server.registerTool('test_input_required_result_list_roots', { description }, (context) => {
    const answer = inputResponse(context.mcpReq.inputResponses, 'client_roots');
    if (answer.kind === 'roots') return text(answer.roots.map(({ uri }) => uri).join(', '));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  for (const name of ['request_state', 'tampered_state']) {
    server.registerTool(`test_input_required_result_${name}`, { description }, async (context) => {
      const confirmed = acceptedContent(context.mcpReq.inputResponses, 'confirm', okSchema);
      if (confirmed && context.mcpReq.requestState() !== undefined) return text('state-ok');
      return inputRequired({ inputRequests: { confirm: askOk }, requestState: await states.mint({ step: 'confirm' }) });
    });
  }
  server.registerTool('test_input_required_result_multiple_inputs', { description }, async (context) => {
    const { inputResponses } = context.mcpReq;
    const known = acceptedContent(inputResponses, 'user_name', nameSchema);
    const greeting = inputResponse(inputResponses, 'greeting');
    const roots = inputResponse(inputResponses, 'client_roots');
    if (known && greeting.kind === 'sampling' && roots.kind === 'roots') return text(`Hello, ${known.name}!`);
    return inputRequired({
      inputRequests: {
        user_name: askName,
        greeting: askModel('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint({ step: 'all' }),
    });
  });
  server.registerTool('test_input_required_result_multi_round', { description }, async (context) => {
    const { inputResponses } = context.mcpReq;
    const state = context.mcpReq.requestState<{ step: string }>();
    const known = acceptedContent(inputResponses, 'step1', nameSchema);
    const color = acceptedContent(inputResponses, 'step2', colorSchema);
    if (state?.step === 'color' && color) return text(`Your color is ${color.color}.`);
    const requestedSchema = known && state ? colorSchema : nameSchema;
    const step2 = inputRequired.elicit({ message: 'Step 2: What is your favorite color?', requestedSchema });
    const step1 = inputRequired.elicit({ message: 'Step 1: What is your name?', requestedSchema });
    return inputRequired({
      inputRequests: known && state ? { step2 } : { step1 },
      requestState: await states.mint({ step: known && state ? 'color' : 'name' }),
    });
  });
  server.registerTool('test_input_required_result_capabilities', { description }, (context) => {
    const { sampling, elicitation } = capabilitiesOf(context);
    const inputRequests: InputRequests = {
      ...(sampling ? { greeting: askModel('Generate a greeting', 50) } : {}),
      ...(elicitation ? { user_name: askName } : {}),
    };
    return Object.keys(inputRequests).length > 0
      ? inputRequired({ inputRequests })
      : text('The client cannot be asked.');
  });
}
