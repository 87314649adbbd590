// The verdict about one call: allowed, or refused with the error that the model reads.
import { PocketError } from '@pocket-agent/kit';
import type { ToolCall } from '../base/tool-call.ts';
import type { AuditRecord } from './audit.ts';

/** The fields are those of its audit record. */
export type CallVerdict = Allowed | Refused;

interface Allowed extends Pick<AuditRecord, 'by'> {
  decision: 'allowed' | 'approved' | 'edited';
  reason?: undefined;
  error?: undefined;
  /** The call with the arguments to use. */
  call: ToolCall;
}

export interface Refused extends Pick<AuditRecord, 'by'> {
  decision: 'refused' | 'denied';
  reason: string;
  error: PocketError;
}

/** A call that an approver denied, or that lacks an approver. */
export function denied(call: ToolCall, by: AuditRecord['by'], reason: string): Refused {
  const error = new PocketError('ACCESS_DENIED', `"${call.name}" was not called: ${reason}.`);
  return { decision: 'denied', by, reason, error };
}
