// Who says yes to a call: the person at the terminal, --yes, or nobody.
import type { Approve } from '../approval.ts';
import type { Interrupts } from './interrupts.ts';
import type { Screen } from './screen.ts';
import { TerminalApproval } from './terminal-approval.ts';

export interface Approver {
  approve: Approve;
  /** A conversation that begins anew has no yes from before. */
  forget(): void;
}

export interface ApproverOptions {
  screen: Screen;
  interrupts: Interrupts;
  yes: boolean;
}

/** Undefined when there is nobody to ask. */
export function makeApprover({ screen, interrupts, yes }: ApproverOptions): Approver | undefined {
  if (yes) return { approve: () => 'allow', forget: () => {} };
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = new TerminalApproval({
    input: process.stdin,
    output: process.stderr,
    interrupt: interrupts.interrupt,
  });
  return {
    approve: (request) => screen.question(() => terminal.approve(request)),
    forget: () => terminal.forget(),
  };
}
