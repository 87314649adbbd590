// The command `pocket-agent tools`: lists the tools of servers and folders, their capability, and whether they are allowed.

import { printable, printableJson } from '@pocket-agent/kit';
import { PocketAgentClient } from 'pocket-agent';
import { readProfile } from 'pocket-agent/internal';
import { readArguments } from '../command-line/arguments.ts';
import { exitCodes } from '../command-line/exit-codes.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { type AgentRequest, accessFlags, readAgentRequest, sourceFlags } from '../setup/agent-request.ts';
import { closeFolders, loadSources } from '../setup/tool-sources.ts';
import { reportSlowServer, whileConnecting } from '../terminal/activity.ts';
import { Screen } from '../terminal/screen.ts';
import { screenLogger } from '../terminal/screen-logger.ts';
import { toolDetails, toolRows, toolTable } from '../terminal/tool-listing.ts';

function noToolsText({ servers, toolFolders, skills }: AgentRequest): string {
  const sources = [...servers.keys(), ...toolFolders, ...skills].join(', ');
  return sources ? `No working tools in ${sources}.` : 'No servers and no tool folders.';
}

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { profile } = accessFlags;
  const { values, positionals } = readArguments(args, {
    ...sourceFlags,
    profile,
    json: { type: 'boolean', default: false },
  });
  const { signal } = interrupts.listen();
  const request = await readAgentRequest(values);
  const screen = new Screen(process.stdout, process.stderr);
  const tell = (line: string) => screen.line(printable(line));
  const logger = screenLogger(tell);
  const { folders, skills, sources, problems, warnings } = await loadSources(request, { logger, signal });
  for (const line of [...problems, ...warnings]) tell(line);
  const client = new PocketAgentClient({
    mcpConfig: { mcpServers: Object.fromEntries(request.servers) },
    logger,
    onServerStatus: reportSlowServer(tell),
    onToolRenamed: ({ source, ownName, toolName, reason }) =>
      tell(`tool "${ownName}" of ${source} is renamed to "${toolName}": ${reason}`),
  });
  try {
    const profile = request.access.profile === undefined ? undefined : readProfile(request.access.profile);
    const all = [client, ...sources];
    const listing = toolRows({
      sources: all,
      profile,
      exposing: { option: request.exposure, model: request.model },
      signal,
    });
    const rows = (await whileConnecting(screen, () => client.status, listing)).filter(
      ({ tool }) => positionals.length === 0 || positionals.includes(tool),
    );
    const states = [...client.status];
    for (const [server, { status, reason }] of states) {
      if (status !== 'connected') tell(`server ${server}: ${reason ?? status}`);
    }
    const works = folders.flatMap((folder) => folder.folders).some((folder) => folder.problems.length === 0);
    const hasSkills = skills !== undefined && skills.skills.length > 0;
    const isConnected = states.some(([, { status }]) => status === 'connected') || works || hasSkills;
    const hasAnswer = rows.length > 0 || (isConnected && positionals.length === 0);
    if (!hasAnswer && isConnected) tell(`There is no tool ${positionals.map((name) => `"${name}"`).join(' or ')}.`);
    else if (!hasAnswer) tell(noToolsText(request));
    else {
      const lines = values.json ? rows.map(printableJson) : toolTable(rows);
      const details = positionals.length > 0 && !values.json ? await toolDetails(all, positionals, signal) : [];
      process.stdout.write([...lines, ...details].map((line) => `${line}\n`).join(''));
    }
    return hasAnswer && problems.length === 0 ? exitCodes.answered : exitCodes.failed;
  } finally {
    screen.close();
    await client.close();
    await closeFolders(folders);
  }
}
