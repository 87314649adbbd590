// Asks the client of a server to approve a call, by elicitation.
import { errorText } from '@pocket-agent/kit';
import type { Approve } from '../access/approval.ts';
import type { CallOptions } from './suspended-calls.ts';
import { approvalIn, approvalQuestion } from './tasks/client-questions.ts';

/** The model reads this much of a client's error. */
const MAX_REASON_LENGTH = 200;

/** An approver who asks the client of a call. A client that answers with an error has not approved. */
export function askedClient(ask: CallOptions['ask']): Approve {
  return async (request) => {
    const name = `approve_${request.hash.slice(0, 16)}`;
    try {
      return approvalIn(await ask(approvalQuestion(request), { signal: request.signal, name }));
    } catch (error) {
      request.signal.throwIfAborted();
      const reason = errorText(error).slice(0, MAX_REASON_LENGTH);
      return { deny: `the client could not be asked for approval (${reason})`, by: 'no-approver' };
    }
  };
}
