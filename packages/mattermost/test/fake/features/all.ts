// Features beyond channels and messages, depending on the version.
import type { RouteTable } from '../http/routes.ts';
import type { World } from '../world/world.ts';
import { acknowledgementRoutes, reminderRoutes } from './acknowledgements.ts';
import { actionRoutes } from './actions.ts';
import { channelChangeRoutes } from './channel-changes.ts';
import { commandRoutes } from './commands.ts';
import { customStatusRoutes } from './custom-status.ts';
import { emojiRoutes } from './emoji.ts';
import { fileSearchRoutes } from './file-search.ts';
import { groupRoutes } from './groups.ts';
import { scheduledPostRoutes } from './scheduled-posts.ts';
import { sidebarRoutes } from './sidebar.ts';

export function addFeatures(routes: RouteTable, world: World): void {
  const always = [actionRoutes, channelChangeRoutes, commandRoutes, customStatusRoutes, emojiRoutes, fileSearchRoutes];
  for (const group of [...always, groupRoutes, sidebarRoutes]) routes.add('/api/v4', group);
  if (world.atLeast(7, 2)) routes.add('/api/v4', reminderRoutes);
  if (world.atLeast(7, 7)) routes.add('/api/v4', acknowledgementRoutes);
  if (world.atLeast(10, 3)) routes.add('/api/v4', scheduledPostRoutes);
}
