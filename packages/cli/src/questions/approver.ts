// Chooses how approvals and forms are answered: by --yes, at the terminal, or not at all.
import type { Approve, McpServerEntry, ServerHandlers } from 'pocket-agent';
import type { Interrupts } from '../command-line/interrupts.ts';
import type { Screen } from '../terminal/screen.ts';
import { TerminalApproval } from './terminal-approval.ts';
import { terminalForm } from './terminal-form.ts';
import { TerminalQuestions } from './terminal-questions.ts';

export interface Approver {
  /** Undefined if calls cannot be approved. */
  approve: Approve | undefined;
  /** Answers the forms of MCP servers. */
  elicit: ServerHandlers['elicitationHandler'];
  /** Whether it also approves the calls that served agents ask about. */
  answersServers: boolean;
  /** Forgets every "always" when a new conversation starts. */
  forget(): void;
}

export interface ApproverOptions {
  screen: Screen;
  interrupts: Interrupts;
  yes: boolean;
}

export function makeApprover({ screen, interrupts, yes }: ApproverOptions): Approver {
  const approve = yes ? () => 'allow' as const : undefined;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    return { approve, elicit: undefined, answersServers: yes, forget: () => {} };
  }
  const { stdin: input, stderr: output } = process;
  const questions = new TerminalQuestions({ input, output, interrupt: interrupts.interrupt });
  const terminal = new TerminalApproval(questions);
  const form = terminalForm(questions, () => interrupts.signal);
  return {
    approve: approve ?? ((request) => screen.question(() => terminal.approve(request))),
    elicit: (params, from) => screen.question(async () => form(params, from)),
    answersServers: yes,
    forget: () => terminal.forget(),
  };
}

/** Entries that pass questions of served agents on to the approver, if it answers them. */
export function askedBy(
  servers: ReadonlyMap<string, McpServerEntry>,
  { answersServers }: Pick<Approver, 'answersServers'>,
): ReadonlyMap<string, McpServerEntry> {
  if (!answersServers) return servers;
  return new Map([...servers].map(([name, entry]) => [name, { approvals: true, ...entry }]));
}
