// The command `pocket-agent worker`: advances the durable runs of the agents in a module, until it is stopped.
import { PocketError, printable } from '@pocket-agent/kit';
import type { Runs } from '@pocket-agent/runs';
import type { StudioAddress } from '@pocket-agent/studio';
import { readArguments, wholeNumber } from '../../command-line/arguments.ts';
import { program } from '../../command-line/help.ts';
import type { Interrupts } from '../../command-line/interrupts.ts';
import { runsUrl } from '../../files/runs-url.ts';
import { agentsOf } from '../../setup/agent-module.ts';
import { screenLogger } from '../../terminal/screen-logger.ts';

/** How long steps in progress may take after a signal to stop. A second signal ends the program at once. */
const DRAIN_MS = 25_000;

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, {
    runs: { type: 'string' },
    parallel: { type: 'string' },
    studio: { type: 'string' },
  });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0)
    throw new PocketError('CONFIG_INVALID', `Usage: ${program} worker MODULE --runs DATABASE`);
  const url = runsUrl(values.runs);
  const maxParallelRuns = wholeNumber('parallel', values.parallel);
  const agents = await agentsOf(file);
  const { openRuns } = await import('@pocket-agent/runs');
  const tell = (line: string) => void process.stderr.write(`${printable(line)}\n`);
  const runs = await openRuns({
    url,
    agents,
    logger: screenLogger(tell, 'warn'),
    ...(maxParallelRuns === undefined ? {} : { maxParallelRuns }),
  });
  try {
    const studio = values.studio === undefined ? undefined : await openAddress(values.studio, runs);
    if (studio) tell(`studio: ${shownUrl(studio)}`);
    tell(`Ready for runs of ${Object.keys(agents).join(', ')}. Ctrl-C stops.`);
    await stopped(interrupts.listen().signal);
    await studio?.close();
  } finally {
    await runs.close({ graceMs: DRAIN_MS });
  }
  return interrupts.exitCode ?? 0;
}

/** For studios: `pocket-agent studio --attach URL`. */
async function openAddress(address: string, runs: Runs): Promise<StudioAddress> {
  const { openStudioAddress } = await import('@pocket-agent/studio');
  const token = process.env.POCKET_AGENT_STUDIO_TOKEN;
  return openStudioAddress({ address, runs, ...(token ? { token } : {}) });
}

/** A token that the operator chose stays out of the log. */
function shownUrl({ url }: StudioAddress): string {
  return process.env.POCKET_AGENT_STUDIO_TOKEN ? new URL(url).origin : url;
}

async function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => {}, 2 ** 30);
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  clearInterval(alive);
}
