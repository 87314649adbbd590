// npm run discord:demo -- --load N: N people ask five questions each at the same time, on a local Discord without rate limits. It
// measures what the bot itself costs: the model answers at once.
import { ScriptedModel } from 'pocket-agent/testing';
import { createBot, jsonLogger } from '../src/index.ts';
import { startDiscord } from '../test/counterpart/discord.ts';

const QUESTIONS = 5;
const TIMEOUT_MS = 300_000;

export async function playLoad(count: number, print: (line: string) => void): Promise<void> {
  const people = Array.from({ length: count }, (_, index) => ({ name: `person${index}` }));
  const all = count * QUESTIONS;
  const discord = await startDiscord({ users: people, guilds: [], rateLimits: 'none' });
  const bot = createBot({
    token: discord.token,
    apiUrl: discord.apiUrl,
    database: { file: ':memory:' },
    models: [{ name: 'script', model: new ScriptedModel(new Array(all).fill('Hello!')) }],
    limits: { perUserPerMinute: all, waitingPerUser: all },
    logger: jsonLogger('warn'),
    client: { rest: { globalRequestsPerSecond: 100_000 } },
  });
  try {
    await bot.start();
    const started = performance.now();
    const cpu = process.cpuUsage();
    const asked = new Map<string, number>();
    for (let question = 0; question < QUESTIONS; question++)
      for (const { name } of people) {
        const person = discord.user(name);
        asked.set(person.say(person.dm, `question ${question}`).id, performance.now());
      }
    const waits: number[] = [];
    const stopWatching = discord.watch(({ message }) => {
      const since = asked.get(message?.replyTo?.messageId ?? '');
      if (since === undefined || !message?.content.startsWith('Hello!')) return;
      asked.delete(message.replyTo?.messageId ?? '');
      waits.push(performance.now() - since);
    });
    await discord.waitFor(() => asked.size === 0, {
      timeoutMs: TIMEOUT_MS,
      what: 'all answers',
      seen: () => `${asked.size} are missing`,
    });
    stopWatching();
    const seconds = (performance.now() - started) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const answers = people.flatMap(({ name }) => discord.botMessages(discord.user(name).dm));
    waits.sort((one, other) => one - other);
    const at = (share: number) => Math.round(waits[Math.floor(waits.length * share)] ?? 0);
    print(`${count} people, ${all} questions at the same time: ${answers.length} answers in ${seconds.toFixed(1)} s`);
    print(
      `${Math.round(all / seconds)} answers per second; half of them within ${at(0.5)} ms, 95 % within ${at(0.95)} ms`,
    );
    print(`${((user + system) / 1_000 / all).toFixed(1)} ms of processor time per answer, the local Discord included`);
    print(`${Math.round(process.memoryUsage().rss / 1_000_000)} MB of memory, the local Discord included`);
  } finally {
    await bot.close();
    await discord.close();
  }
}
