// All tools of the server, first those that every client lists.
import type { Tool } from './base/tool.ts';
import { bookmarkTools } from './bookmarks.ts';
import { channelChangeTools } from './channels/channel-changes.ts';
import { channelMemberTools } from './channels/channel-members.ts';
import { channelSearchTools } from './channels/channel-search.ts';
import { channelTools } from './channels/channels.ts';
import { digestTools } from './digest.ts';
import { fileSearchTools } from './files/file-search.ts';
import { fileTools } from './files/files.ts';
import { inboxTools } from './inbox.ts';
import { messageTools } from './messages.ts';
import { commandTools } from './optional/commands.ts';
import { emojiTools } from './optional/emoji.ts';
import { peopleTools } from './optional/people.ts';
import { readingTools } from './optional/reading.ts';
import { scheduleTools } from './optional/schedule.ts';
import { sidebarTools } from './optional/sidebar.ts';
import { statusTools } from './optional/status.ts';
import { postTools } from './posts.ts';
import { resolveTools } from './resolve.ts';
import { savedTools } from './saved.ts';
import { teamTools } from './teams.ts';
import { threadTools } from './threads.ts';
import { userTools } from './users.ts';

export const allTools: readonly Tool[] = [
  ...inboxTools,
  ...digestTools,
  ...resolveTools,
  ...teamTools,
  ...channelTools,
  ...channelSearchTools,
  ...channelChangeTools,
  ...channelMemberTools,
  ...messageTools,
  ...threadTools,
  ...postTools,
  ...savedTools,
  ...userTools,
  ...fileTools,
  ...fileSearchTools,
  ...bookmarkTools,
  ...readingTools,
  ...statusTools,
  ...scheduleTools,
  ...peopleTools,
  ...emojiTools,
  ...sidebarTools,
  ...commandTools,
];
