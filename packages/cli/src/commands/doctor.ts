// The command `pocket-agent doctor`: checks the setup and says how to fix each problem. Secrets are never shown.
import { accessSync, constants } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, printable, stderrLogger, VERSION } from '@pocket-agent/kit';
import { dataFolder, makePrivateFolder } from '@pocket-agent/kit/private-files';
import { nodeVersionProblem } from '@pocket-agent/kit/require-node';
import { PocketAgentClient, resolveModel } from 'pocket-agent';
import { installCommand, isInstalled, keyVariable, knownProviders } from 'pocket-agent/internal';
import { readArguments } from '../command-line/arguments.ts';
import { exitCodes } from '../command-line/exit-codes.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { type AgentRequest, readAgentRequest, sourceFlags } from '../setup/agent-request.ts';
import { chooseModel } from '../setup/choose-model.ts';
import { findConfigs } from '../setup/found-configs.ts';
import { settingsFor } from '../setup/model-settings.ts';
import { closeFolders, loadFolders, loadSkills, toolFolderPath } from '../setup/tool-sources.ts';
import { reportSlowServer, whileConnecting } from '../terminal/activity.ts';
import { Screen } from '../terminal/screen.ts';
import { canMoveCursor, hasColour, makeStyle } from '../terminal/style.ts';
import { plural } from '../terminal/usage-line.ts';

interface Finding {
  state: 'ok' | 'note' | 'broken';
  text: string;
  /** How to fix it. */
  fix?: string;
}

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values } = readArguments(args, { ...sourceFlags, model: { type: 'string', short: 'm' } });
  const { signal } = interrupts.listen();
  const style = makeStyle(hasColour(process.stdout));
  const marks = { ok: style.green('ok    '), note: style.yellow('note  '), broken: style.red('broken') };
  let isBroken = false;
  const report = ({ state, text, fix }: Finding) => {
    isBroken ||= state === 'broken';
    process.stdout.write(`${marks[state]}  ${printable(text)}\n${fix ? `        ${printable(fix)}\n` : ''}`);
  };
  report({ state: 'ok', text: `pocket-agent ${VERSION}` });
  report(checkNode(process.versions.node));
  for (const finding of checkKeys(process.env)) report(finding);
  for (const finding of checkPackages()) report(finding);
  const request = await readAgentRequest(values).catch((error) => {
    report({ state: 'broken', text: errorText(error), fix: 'Fix the file or option that the message names.' });
    return undefined;
  });
  if (request) {
    report(await checkModel(request));
    for (const finding of await checkServers(request, signal)) report(finding);
    for (const name of request.toolFolders)
      for (const finding of await checkFolder(name, request, signal)) report(finding);
    for (const finding of await checkSkills(request.skills, signal)) report(finding);
  }
  report(await checkDataFolder());
  report(checkTerminal());
  for (const { program, file } of await findConfigs()) {
    report({ state: 'note', text: `${file} (${program}) may have MCP servers`, fix: `Use it with --mcp ${file}` });
  }
  return isBroken ? exitCodes.failed : exitCodes.answered;
}

export function checkNode(version: string): Finding {
  const problem = nodeVersionProblem('pocket-agent', version);
  if (problem === undefined) return { state: 'ok', text: `Node ${version}` };
  return { state: 'broken', text: problem, fix: 'Install a newer Node from https://nodejs.org' };
}

/** Reports only whether keys are set. */
function checkKeys(env: NodeJS.ProcessEnv): Finding[] {
  const set = knownProviders.flatMap(({ keyVariables }) => keyVariables).filter((variable) => env[variable]);
  if (set.length > 0) return set.map((variable) => ({ state: 'ok', text: `${variable} is set` }));
  const common = knownProviders.flatMap(({ defaultModel, keyVariables }) => (defaultModel ? keyVariables : []));
  return [
    {
      state: 'note',
      text: 'no API key of a model provider is set',
      fix: `Set ${common.join(', ')}, or run Ollama. Until then the demo model answers, which is not an LLM. pocket-agent models lists other providers.`,
    },
  ];
}

function checkPackages(): Finding[] {
  const namesOf = (isWanted: typeof isInstalled) => [
    ...new Set(knownProviders.filter(isWanted).map(({ packageName }) => packageName)),
  ];
  const installed = namesOf(isInstalled);
  const missing = namesOf((provider) => !isInstalled(provider) && keyVariable(provider) !== undefined);
  return [
    ...(installed.length > 0 ? [{ state: 'ok' as const, text: `provider packages: ${installed.join(', ')}` }] : []),
    ...(missing.length > 0
      ? [
          {
            state: 'note' as const,
            text: `a key is set, but the provider package is not installed: ${missing.join(', ')}`,
            fix: `To use the models: ${installCommand(...missing)}`,
          },
        ]
      : []),
  ];
}

async function checkModel(request: AgentRequest): Promise<Finding> {
  const chosen = await chooseModel(request.model);
  try {
    await resolveModel(chosen.model, settingsFor(request, chosen.model));
    return { state: 'ok', text: `model ${chosen.model}: ${chosen.because}` };
  } catch (error) {
    return {
      state: 'broken',
      text: `model ${chosen.model}: ${errorText(error)}`,
      fix: 'Or choose another model with --model.',
    };
  }
}

async function checkServers({ servers }: AgentRequest, signal: AbortSignal): Promise<Finding[]> {
  const logger = stderrLogger('silent');
  const screen = new Screen(process.stdout, process.stderr);
  const onServerStatus = reportSlowServer((line) => screen.line(printable(line)));
  const clients: PocketAgentClient[] = [];
  const states = () => new Map(clients.flatMap(({ status }) => [...status]));
  const checks = Promise.all(
    [...servers].map(async ([name, entry]): Promise<Finding> => {
      const client = new PocketAgentClient({ mcpConfig: { mcpServers: { [name]: entry } }, logger, onServerStatus });
      clients.push(client);
      try {
        const tools = await client.listTools(signal);
        const { status, reason } = client.status.get(name) ?? {};
        if (status === 'connected') return { state: 'ok', text: `server ${name}: ${plural(tools.length, 'tool')}` };
        return brokenServer(name, reason ?? String(status));
      } catch (error) {
        return brokenServer(name, errorText(error));
      } finally {
        await client.close();
      }
    }),
  );
  return whileConnecting(screen, states, checks).finally(() => screen.close());
}

function brokenServer(name: string, reason: string): Finding {
  return {
    state: 'broken',
    text: `server ${name}: ${reason}`,
    fix: 'Check its "command" or "url" and its environment variables. "disabled": true skips it.',
  };
}

async function checkFolder(name: string, { folderOptions }: AgentRequest, signal: AbortSignal): Promise<Finding[]> {
  try {
    toolFolderPath(name);
    const { folders, problems, warnings } = await loadFolders([name], {
      ...folderOptions,
      logger: stderrLogger('silent'),
      signal,
    });
    const states = folders.flatMap((folder) => folder.folders);
    await closeFolders(folders);
    return [
      ...states
        .filter((state) => state.problems.length === 0)
        .map(
          (state): Finding => ({
            state: 'ok',
            text: `tool folder ${state.name}: ${plural(state.tools.length, 'tool')}`,
          }),
        ),
      ...warnings.map((text): Finding => ({ state: 'note', text })),
      ...problems.map((text): Finding => ({ state: 'broken', text, fix: 'Fix that line and run doctor again.' })),
    ];
  } catch (error) {
    return [{ state: 'broken', text: errorText(error), fix: 'pocket-agent new-tool NAME creates a working folder.' }];
  }
}

/** All together, because two skills must not have one name; one by one if a path cannot be read. */
async function checkSkills(paths: readonly string[], signal: AbortSignal): Promise<Finding[]> {
  try {
    const { skills, problems, warnings } = await loadSkills(paths, { logger: stderrLogger('silent'), signal });
    const found = skills?.skills ?? [];
    return [
      ...found.map(({ name }): Finding => ({ state: 'ok', text: `skill ${name}` })),
      ...warnings.map((text): Finding => ({ state: 'note', text })),
      ...problems.map((text): Finding => ({ state: 'broken', text, fix: 'Fix that line and run doctor again.' })),
    ];
  } catch (error) {
    if (paths.length > 1) return (await Promise.all(paths.map((path) => checkSkills([path], signal)))).flat();
    return [{ state: 'broken', text: errorText(error), fix: 'Check the path given with --skills.' }];
  }
}

async function checkDataFolder(): Promise<Finding> {
  const folder = dataFolder();
  const probe = join(folder, `.doctor-${process.pid}`);
  try {
    await makePrivateFolder(folder);
    accessSync(folder, constants.W_OK);
    await writeFile(probe, '', { mode: 0o600 });
    await rm(probe);
    return { state: 'ok', text: `data folder ${folder}` };
  } catch (error) {
    return {
      state: 'broken',
      text: `data folder ${folder}: ${errorText(error)}`,
      fix: 'Sessions and history cannot be saved. Make the folder writable, or set XDG_DATA_HOME to a folder that is.',
    };
  }
}

function checkTerminal(): Finding {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    return { state: 'note', text: 'no terminal: calls cannot be approved, and there is no chat' };
  }
  const colour = hasColour(stdout) ? 'colours' : 'no colours';
  if (canMoveCursor(stdout)) return { state: 'ok', text: `terminal: ${stdout.columns} columns, ${colour}` };
  return { state: 'note', text: `terminal ${process.env.TERM}: no progress bars, no history`, fix: 'Set TERM.' };
}
