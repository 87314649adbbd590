// Texts in which the bot introduces itself.
import { escapeMarkdown } from 'discord.js';

export function introduction(name: string): string {
  return [
    `Hello, I am **${name}**. Mention me with a question, reply to me, send me a direct message, or use \`/ask\`.`,
    '`/agent` chooses my tools, `/model` my model, `/sweep` clears the conversation, `/help` lists everything.',
  ].join('\n');
}

export function help(name: string): string {
  return [
    introduction(name),
    '',
    '`/ask` asks a question, also where you cannot mention me',
    '`/agent` turns tools on and off and keeps the conversation. `Disabled` turns all of them off',
    '`/model` shows and changes the model of this conversation',
    '`/summarize` summarizes recent messages of this channel, or those of a date',
    '`/schedule` answers a question at certain times, such as every Monday',
    '`/sweep` deletes this conversation after a confirmation',
    '`/skills` shows the skills of this conversation',
    "`/cost` shows today's spending, `/usage` a chart of the last days",
    '`/login` logs you in to an MCP server of this server with your own account',
    '`/memory` shows and erases what I remember about you',
    '`/setup` is for admins: channels, roles, access profiles, models, MCP servers, budgets',
    'The Apps menu of a message can explain it, rephrase it or suggest a reply.',
    '',
    'Below my answers, **Stop** ends an answer and **Regenerate** replaces it. I ask you before a tool changes or deletes something.',
    'I store questions and answers per conversation until someone uses `/sweep`. Direct messages are stored separately.',
  ].join('\n');
}

/** A question on one line, to quote above its answer. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return escapeMarkdown(line.length > 200 ? `${line.slice(0, 200).toWellFormed()}…` : line);
}
