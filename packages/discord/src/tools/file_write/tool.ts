// Sends text as an attachment; writes nothing to disk.
import type { ToolContext } from '@pocket-agent/tool-folder';
import { AttachmentBuilder } from 'discord.js';
import type { DiscordContext } from '../../conversation/live-runs.ts';

export class Tools {
  async tool_file_write(
    { file_name, file_contents }: { file_name: string; file_contents: string },
    { discord }: ToolContext<{ discord: DiscordContext }>,
  ) {
    const name = file_name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_');
    const file = new AttachmentBuilder(Buffer.from(file_contents), { name });
    const message = await discord.channel.send({ files: [file] });
    return { sent: name, message: message.url };
  }
}
