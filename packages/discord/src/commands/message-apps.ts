// Commands in the Apps menu of a message: explain, rephrase, suggest a reply. Only the user sees the answer.
import { ApplicationCommandType, ContextMenuCommandBuilder } from 'discord.js';
import { untrusted } from '../context/untrusted.ts';
import { everyInstall, everywhere, type MessageApp } from './command.ts';
import { answerOnce } from './single-answer.ts';

export const messageApps: readonly MessageApp[] = [
  messageApp('Explain this message', 'Explain the message in plain words, in its own language.'),
  messageApp('Rephrase this message', 'Rewrite the message: clearer, shorter, same meaning, same language.'),
  messageApp('Suggest a response', 'Suggest three short replies to the message, in its own language.'),
];

function messageApp(name: string, task: string): MessageApp {
  return {
    name,
    definition: new ContextMenuCommandBuilder()
      .setName(name)
      .setType(ApplicationCommandType.Message)
      .setContexts(everywhere)
      .setIntegrationTypes(everyInstall)
      .toJSON(),
    async run(parts, interaction) {
      const { content, author, attachments } = interaction.targetMessage;
      const files = [...attachments.values()];
      if (content.trim() === '' && files.length === 0) return 'That message has no text and no files.';
      const text = untrusted('message', { author: author.username }, content);
      return answerOnce(parts, interaction, { task, text, files });
    },
  };
}
