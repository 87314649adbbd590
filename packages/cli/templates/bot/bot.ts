// Runs the agent as a bot in Mattermost until SIGTERM or Ctrl-C.
import { once } from 'node:events';
import { readConfig } from '@pocket-agent/mattermost';
import { createMattermostBot } from '@pocket-agent/mattermost/bot';
import { openConversations } from '@pocket-agent/store';
import { agentOptions } from './agent.ts';
import { runProgram } from './program.ts';

await runProgram(async () => {
  const { DATABASE_URL, MODEL = 'demo' } = process.env;
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const refused = Promise.withResolvers<void>();

  await using conversations = await openConversations(DATABASE_URL || ':memory:');
  const bot = await createMattermostBot({
    config: readConfig(process.env),
    profile: 'reader', // of the Mattermost tools; `none` leaves them out
    conversations,
    agent: () => agentOptions(MODEL),
    onRefused: () => {
      console.error('MATTERMOST_TOKEN is no longer valid.');
      process.exitCode = 1;
      refused.resolve();
    },
  });
  console.log(`@${bot.username} is listening`);

  await Promise.race([stopped, refused.promise]);
  await bot.close();
});
