// Tools of the group `commands`: slash commands.
import { z } from 'zod';
import { MattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { CommandRecord } from '../../client/records.ts';
import { omitEmpty, truncateText } from '../base/compact.ts';
import { findRoot } from '../base/outgoing-post.ts';
import { full, id, listOf, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';

const group = 'commands';
const tags = ['message'];
const MAX_ANSWER = 20_000;

interface CommandAnswer {
  response_type?: string | null;
  text?: string | null;
  goto_location?: string | null;
  attachments?: unknown[] | null;
}

export const commandTools = [
  defineTool({
    name: 'list_slash_commands',
    title: 'List slash commands',
    description: 'List the slash commands of a team: built-in ones, those of plugins and custom ones.',
    capability: 'read',
    effect: 'read',
    tags,
    group,
    hasTeam: true,
    input: { full: full() },
    output: listOf('commands', record('command', 'hint', 'description')),
    async run({ team_id, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeam(team, 'read');
      const found = await context.api.list<CommandRecord>(path`/teams/${team}/commands/autocomplete`);
      if (full) return { commands: found };
      const commands = found.map(({ trigger, auto_complete_hint: hint, auto_complete_desc, display_name }) => ({
        command: `/${trigger}`,
        ...omitEmpty({ hint, description: auto_complete_desc || display_name }),
      }));
      return { commands };
    },
  }),
  defineTool({
    name: 'run_slash_command',
    title: 'Run slash command',
    description:
      'Run a slash command in a channel as this account. It may do anything the command does, also elsewhere, and cannot be undone.',
    capability: 'delete',
    effect: 'destructive',
    tags,
    group,
    input: {
      channel_id: id(),
      command: z.string().max(16_383).regex(/^\/\S/, 'must start with / and the name of the command'),
      root_id: id().optional(),
      team_id: id().optional().describe('The team whose commands apply in a direct channel'),
    },
    output: record('response_type', 'text', 'goto_location', 'attachments'),
    async run({ team_id, channel_id, command, root_id }, context) {
      const { api, policy } = context;
      // commands such as /msg and /invite reach other channels
      if (!policy.isUnrestricted('write') || !policy.isUnrestricted('read')) throw refusedByLists();
      const root = root_id === undefined ? {} : { root_id: await findRoot(context, root_id, channel_id) };
      const hasTeam = team_id !== undefined || context.config.defaultTeam !== undefined;
      const place = hasTeam ? { team_id: await context.team(team_id) } : {};
      const answer = await api.post<CommandAnswer>('/commands/execute', { channel_id, command, ...place, ...root });
      const { response_type, text, goto_location, attachments } = answer;
      return {
        response_type: response_type || 'ephemeral',
        ...omitEmpty({ text: truncateText(text ?? '', MAX_ANSWER), goto_location, attachments }),
      };
    },
  }),
];

function refusedByLists(): MattermostError {
  const text =
    'Refused: this server limits channels by access lists, and a slash command could reach other ones. Use other tools, or ask the operator of the server.';
  return new MattermostError('REFUSED', text);
}
