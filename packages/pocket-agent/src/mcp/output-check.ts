// Checks results of tools against their output schemas, in another process.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import { checkForeign, type Verdict } from '@pocket-agent/schema';

interface OutputCheck {
  tool: Tool;
  /** Name of the server, for errors. */
  server: string;
  /** The checks of one origin run one after the other. */
  origin: object;
  signal: AbortSignal;
}

/** Tools whose output schema compiles. */
const usable = new WeakSet<Tool>();

/** Throws for a tool whose output schema cannot be used: it is not called. */
export async function checkSchema(check: OutputCheck): Promise<void> {
  const { tool } = check;
  if (usable.has(tool)) return;
  const fault = faultIn(await verdictOf(check));
  if (fault !== undefined) {
    const text = `${named(check)} was not called: its outputSchema cannot be used: ${fault}.`;
    throw new PocketError('MCP_REQUEST_FAILED', text);
  }
  usable.add(tool);
}

export async function checkOutput(result: CallToolResult, check: OutputCheck): Promise<void> {
  const fault = result.isError ? undefined : await faultOf(result, check);
  if (fault !== undefined) throw new PocketError('TOOL_FAILED', `${named(check)} was called, but ${fault}.`);
}

async function faultOf({ structuredContent }: CallToolResult, check: OutputCheck): Promise<string | undefined> {
  if (structuredContent === undefined) return 'returned no structured content, which its outputSchema promises';
  const verdict = await verdictOf(check, structuredContent);
  if ('problem' in verdict) return `its result does not match its output schema: ${verdict.problem}`;
  const fault = faultIn(verdict);
  return fault && `its result could not be checked against its output schema: ${fault}`;
}

function faultIn(verdict: Verdict): string | undefined {
  if ('invalid' in verdict) return verdict.invalid;
  return 'unchecked' in verdict ? verdict.unchecked : undefined;
}

function verdictOf({ tool, origin, signal }: OutputCheck, value?: unknown): Promise<Verdict> {
  return checkForeign({ schema: tool.outputSchema, value, origin, signal });
}

function named({ tool, server }: OutputCheck): string {
  return `Tool "${tool.name}" of MCP server "${server}"`;
}
