// What the bot says of itself.
import { escapeMarkdown } from 'discord.js';

export function introduction(name: string): string {
  return [
    `Hello, I am **${name}**. Mention me with a question, reply to me, write to me directly, or use \`/ask\`.`,
    '`/agent` chooses my tools, `/model` my model, `/sweep` makes me forget, `/help` tells the rest.',
  ].join('\n');
}

export function help(name: string): string {
  return [
    introduction(name),
    '',
    '`/ask` asks, also where you cannot mention me',
    '`/agent` switches tools on and off, several at once; the conversation stays. `Disabled` switches all of them off',
    '`/model` shows and changes the model of this conversation',
    '`/summarize` sums up this channel, lately or around a date',
    '`/sweep` forgets this conversation, after asking',
    '`/cost` tells what was spent today',
    '`/setup` is for admins: channels, roles, rights, models, MCP servers, budgets',
    'In the menu of a message, under Apps: explain it, rephrase it, suggest a reply.',
    '',
    'Under my answers, **Stop** ends and **Regenerate** repeats. Before a tool changes or deletes something I ask you.',
    'I keep what is said to me and what I answer, per conversation, until somebody uses `/sweep`; direct messages apart.',
  ].join('\n');
}

/** A question in one line, to be quoted above its answer. */
export function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return escapeMarkdown(line.length > 200 ? `${line.slice(0, 200).toWellFormed()}…` : line);
}
