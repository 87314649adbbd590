// All commands of the bot.
import { agentCommand } from './agent.ts';
import { askCommand } from './ask.ts';
import type { ChatCommand } from './command.ts';
import { costCommand } from './cost.ts';
import { helpCommand } from './help.ts';
import { messageApps } from './message-apps.ts';
import { modelCommand } from './model.ts';
import { setupCommand } from './setup/setup.ts';
import { summarizeCommand } from './summarize.ts';
import { sweepCommand } from './sweep.ts';

export { messageApps };

export const chatCommands: readonly ChatCommand[] = [
  askCommand,
  agentCommand,
  modelCommand,
  summarizeCommand,
  sweepCommand,
  costCommand,
  helpCommand,
  setupCommand,
];

export const definitions = [...chatCommands, ...messageApps].map(({ definition }) => definition);
