// The command `pocket-agent tools`: every tool of the servers, what it can do, who says so, and whether it is allowed.
import { parseArgs } from 'node:util';
import { type Judgement, type ProfileName, readProfile, refusalBy } from '../access.ts';
import { PocketAgentClient } from '../client.ts';
import { stderrLogger } from '../logger.ts';
import { printable, printableJson } from './printable.ts';
import { chooseServers } from './servers.ts';

interface Row extends Judgement {
  tool: string;
  allowed: boolean;
  reason?: string;
}

export async function tools(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      profile: { type: 'string' },
      config: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const profile = values.profile === undefined ? undefined : readProfile(values.profile as ProfileName);
  const { mcpConfig, from } = await chooseServers(values.config);
  const tell = (line: string) => void process.stderr.write(`${printable(line)}\n`);
  const client = new PocketAgentClient({
    mcpConfig,
    // a server that fails is reported below
    logger: stderrLogger(process.env.POCKET_AGENT_LOG_LEVEL ? undefined : 'error'),
    onToolRenamed: ({ source, tool, name, reason }) =>
      tell(`tool "${tool}" of ${source} is called "${name}" here: ${reason}`),
  });
  try {
    const rows = (await client.listTools(signal)).map((tool): Row => {
      const judgement = client.judge(tool);
      const reason = profile && refusalBy(profile, { name: tool.name, ...judgement });
      return { tool: tool.name, ...judgement, allowed: reason === undefined, ...(reason ? { reason } : {}) };
    });
    const states = [...client.status];
    for (const [server, { status, reason }] of states) {
      if (status !== 'connected') tell(`server ${server}: ${reason ?? status}`);
    }
    const hasAnswer = states.some(([, { status }]) => status === 'connected');
    if (hasAnswer) process.stdout.write(values.json ? jsonLines(rows) : table(rows));
    else tell(`No MCP server answered (${from}).`);
    return hasAnswer ? 0 : 1;
  } finally {
    await client.close();
  }
}

function jsonLines(rows: readonly Row[]): string {
  return rows.map((row) => `${printableJson(row)}\n`).join('');
}

function table(rows: readonly Row[]): string {
  const cells = [
    ['tool', 'capability', 'from', 'allowed'],
    ...rows.map(({ tool, capability, from, allowed, reason }) => [
      printable(tool),
      capability,
      from,
      allowed ? 'yes' : `no: ${reason}`,
    ]),
  ];
  const widths = [0, 1, 2].map((column) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  return cells.map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`).join('');
}
