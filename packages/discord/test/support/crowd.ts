// Many people in parallel: checks that every question is answered once, in order, in its own conversation.
import { expect } from 'vitest';
import type { LocalDiscord } from '../counterpart/discord.ts';
import { answers, lastText } from './start-bot.ts';

export const crowd = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `person${index}` }));

/** Answers with all questions of the conversation, so that a lost or foreign one shows. */
export function echo() {
  return answers((options) => {
    const asked = options.prompt.flatMap(({ role, content }) =>
      role === 'user' ? (/(person\d+ asks \d+)/.exec(JSON.stringify(content))?.[1] ?? '?') : [],
    );
    return { text: asked.join(', '), delayMs: lastText(options, 'user').length % 7 };
  });
}

export function askAll(discord: LocalDiscord, people: number, questions: number): void {
  for (let question = 1; question <= questions; question++) {
    for (const { name } of crowd(people)) {
      const person = discord.user(name);
      person.say(person.dm, `${name} asks ${question}`);
    }
  }
}

export async function expectAllAnswered(discord: LocalDiscord, people: number, questions: number): Promise<void> {
  const last = (name: string) =>
    Array.from({ length: questions }, (_, index) => `${name} asks ${index + 1}`).join(', ');
  const places = crowd(people).map(({ name }) => ({ name, dm: discord.user(name).dm, whole: last(name) }));
  const isWhole = ({ dm, whole }: (typeof places)[number]) => {
    const answered = discord.botMessages(dm);
    return answered.length === questions && answered.at(-1)?.content === whole;
  };
  const open = new Set(places);
  const seen = () => {
    const lacking = places.filter((place) => !isWhole(place));
    const said = (dm: Parameters<LocalDiscord['botMessages']>[0]) =>
      discord.botMessages(dm).map(({ content }) => JSON.stringify(content));
    const shown = lacking.slice(0, 5).map(({ name, dm }) => `${name} got ${said(dm).join(', ') || 'nothing'}`);
    return [`${lacking.length} of ${people} lack something`, ...shown].join('\n');
  };
  await discord.waitFor(
    () => {
      // checked often: compare all only when the count is complete
      for (const place of open) {
        if (!isWhole(place)) return false;
        open.delete(place);
      }
      return places.every(isWhole);
    },
    { what: 'all answers', timeoutMs: 150_000, seen },
  );
  for (const { name, dm } of places) {
    const said = discord.messages(dm).filter(({ author }) => !author.bot);
    const answered = discord.botMessages(dm);
    expect(answered.map(({ replyTo }) => replyTo?.messageId)).toEqual(said.map(({ id }) => id));
    expect(answered.map(({ content }) => content)).toEqual(
      said.map((_message, index) =>
        last(name)
          .split(', ')
          .slice(0, index + 1)
          .join(', '),
      ),
    );
  }
}
