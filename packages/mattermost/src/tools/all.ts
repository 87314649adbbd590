// All tools of the server.
import type { Tool } from './base/tool.ts';
import { bookmarkTools } from './bookmarks.ts';
import { channelMemberTools } from './channel-members.ts';
import { channelTools } from './channels.ts';
import { fileTools } from './files/files.ts';
import { inboxTools } from './inbox.ts';
import { messageTools } from './messages.ts';
import { postTools } from './posts.ts';
import { resolveTools } from './resolve.ts';
import { savedTools } from './saved.ts';
import { teamTools } from './teams.ts';
import { threadTools } from './threads.ts';
import { userTools } from './users.ts';

export const allTools: readonly Tool[] = [
  ...inboxTools,
  ...resolveTools,
  ...teamTools,
  ...channelTools,
  ...channelMemberTools,
  ...messageTools,
  ...threadTools,
  ...postTools,
  ...savedTools,
  ...userTools,
  ...fileTools,
  ...bookmarkTools,
];
