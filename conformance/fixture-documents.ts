// Fixtures of the conformance suite: resources and prompts.
import {
  acceptedContent,
  completable,
  inputRequired,
  type McpServer,
  type PromptMessage,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { PNG } from './fixture-tools.ts';

const contextSchema = z.object({ context: z.string() });

export function addResources(server: McpServer): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'Some text', mimeType: 'text/plain' },
    ({ href }) => ({
      contents: [{ uri: href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'An image', mimeType: 'image/png' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'image/png', blob: PNG }] }),
  );
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { description: 'Can be watched', mimeType: 'text/plain' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'text/plain', text: 'Nothing has changed.' }] }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'Data for the id in the URI', mimeType: 'application/json' },
    ({ href }, { id }) => {
      const data = { id, templateTest: true, data: `Data for ID: ${String(id)}` };
      return { contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify(data) }] };
    },
  );
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}

export function addPrompts(server: McpServer): void {
  const say = (...contents: PromptMessage['content'][]) => ({
    messages: contents.map((content) => ({ role: 'user' as const, content })),
  });
  server.registerPrompt('test_simple_prompt', { description: 'A prompt' }, () =>
    say({ type: 'text', text: 'This is a simple prompt for testing.' }),
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with arguments',
      argsSchema: z.object({
        arg1: completable(z.string(), (value) => ['test', 'testing'].filter((word) => word.startsWith(value))),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => say({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt with a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) =>
      say(
        {
          type: 'resource',
          resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image' }, () =>
    say({ type: 'image', data: PNG, mimeType: 'image/png' }, { type: 'text', text: 'Please analyze the image above.' }),
  );
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks before it answers' }, (context) => {
    const known = acceptedContent(context.mcpReq.inputResponses, 'user_context', contextSchema);
    if (known) return say({ type: 'text', text: `Use this: ${known.context}` });
    const question = { message: 'What context should the prompt use?', requestedSchema: contextSchema };
    return inputRequired({ inputRequests: { user_context: inputRequired.elicit(question) } });
  });
}
