// All commands of the bot.
import { agentCommand } from '../commands/agent.ts';
import { askCommand } from '../commands/ask.ts';
import type { ChatCommand } from '../commands/command.ts';
import { costCommand } from '../commands/cost.ts';
import { helpCommand } from '../commands/help.ts';
import { loginCommand } from '../commands/login.ts';
import { memoryCommand } from '../commands/memory.ts';
import { messageApps } from '../commands/message-apps.ts';
import { modelCommand } from '../commands/model.ts';
import { scheduleCommand } from '../commands/schedule.ts';
import { setupCommand } from '../commands/setup/setup.ts';
import { skillsCommand } from '../commands/skills.ts';
import { summarizeCommand } from '../commands/summarize.ts';
import { sweepCommand } from '../commands/sweep.ts';
import { usageCommand } from '../commands/usage.ts';

export { messageApps };

export const chatCommands: readonly ChatCommand[] = [
  askCommand,
  agentCommand,
  modelCommand,
  skillsCommand,
  summarizeCommand,
  scheduleCommand,
  sweepCommand,
  costCommand,
  usageCommand,
  memoryCommand,
  loginCommand,
  helpCommand,
  setupCommand,
];

export const definitions = [...chatCommands, ...messageApps].map(({ definition }) => definition);
