// Checks the arguments of a call before a person is asked to approve it: its tool would reject invalid ones.
import type { Tool } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import { checkForeign, checkHere } from '@pocket-agent/schema';
import type { ToolCall } from '../base/tool-call.ts';
import type { Refused } from './verdict.ts';

interface CheckedCall {
  call: ToolCall;
  tool: Tool;
  /** Set for a schema that the program did not write: it is checked in another process, one check of an origin at a time. */
  origin: object | undefined;
  signal: AbortSignal;
}

/** Undefined if the arguments are valid. */
export async function checkArguments({ call, tool, origin, signal }: CheckedCall): Promise<Refused | undefined> {
  const check = { schema: tool.inputSchema, value: call.arguments, defaults: true };
  const verdict = await (origin ? checkForeign({ ...check, origin, signal }) : checkHere(check));
  const refused = { decision: 'refused' as const, by: 'policy' as const };
  if ('problem' in verdict) {
    const error = new PocketError('TOOL_ARGUMENTS_INVALID', `Bad arguments for "${call.name}": ${verdict.problem}`);
    return { ...refused, reason: 'its arguments do not fit its schema', error };
  }
  // an invalid schema says nothing about the arguments
  if (!('unchecked' in verdict)) return undefined;
  const reason = `its arguments could not be checked against its inputSchema: ${verdict.unchecked}`;
  return { ...refused, reason, error: new PocketError('TOOL_FAILED', `"${call.name}" was not called: ${reason}.`) };
}
