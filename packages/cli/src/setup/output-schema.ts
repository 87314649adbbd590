// The JSON Schema of answers that --output names.
import { errorText, PocketError, readJsonFile } from '@pocket-agent/kit';
import type { JsonSchema } from 'pocket-agent';
import { readOutput } from 'pocket-agent/internal';
import type { AgentRequest } from './agent-request.ts';

/** The request with the schema of the file, if one is given, in place of the output of the agent file. */
export async function withOutput(request: AgentRequest, file: string | undefined): Promise<AgentRequest> {
  if (file === undefined) return request;
  const schema = (await readJsonFile(file, 'give a file with a JSON Schema')) as JsonSchema;
  try {
    readOutput({ schema });
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file}: ${errorText(error)}`, { cause: error });
  }
  return { ...request, config: { ...request.config, output: { schema } } };
}
