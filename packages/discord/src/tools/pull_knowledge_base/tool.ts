// Reads pages of one directory; only names in its listing can be read.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolContext } from '@pocket-agent/tool-folder';
import { PocketError } from 'pocket-agent';

export class Tools {
  async tool_pull_knowledge_base({ kb_name }: { kb_name: string }, { env, folder }: ToolContext) {
    const directory = env.POCKET_DISCORD_KNOWLEDGE || join(folder.path, 'pages');
    const entries = await readdir(directory, { withFileTypes: true });
    const pages = entries.flatMap((entry) =>
      entry.isFile() && entry.name.endsWith('.md') ? entry.name.slice(0, -3) : [],
    );
    if (kb_name === '') return { pages };
    if (!pages.includes(kb_name))
      throw new PocketError('TOOL_FAILED', `Unknown page "${kb_name}". Available: ${pages.join(', ') || 'none'}.`);
    return readFile(join(directory, `${kb_name}.md`), 'utf8');
  }
}
