// The tool set_status (group `status`).
import { z } from 'zod';
import { path } from '../../client/path.ts';
import { checkFuture, emojiName, time, toMilliseconds } from '../base/schemas.ts';
import { presentStatus, status } from '../base/status.ts';
import { defineTool } from '../base/tool.ts';
import { explainUnsupported } from '../base/unsupported.ts';

const CUSTOM_STATUS = { what: 'custom statuses' };
/** As in the apps of Mattermost. */
const DEFAULT_EMOJI = 'speech_balloon';

export const statusTools = [
  defineTool({
    name: 'set_status',
    title: 'Set my status',
    description:
      'Set the status of this account, its custom status (text, emoji), or both. online lets Mattermost follow the activity again.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['user'],
    group: 'status',
    input: {
      status: z.enum(['online', 'away', 'dnd', 'offline']).optional(),
      dnd_until: time().optional(),
      text: z.string().trim().max(100).optional().describe('Custom status'),
      emoji: emojiName().optional(),
      text_until: time().optional().describe('When the custom status ends'),
      clear_text: z.boolean().default(false).describe('Remove the custom status'),
    },
    check({ status, dnd_until, text, emoji, text_until, clear_text }) {
      const hasCustom = Boolean(text || emoji);
      if (status === undefined && !hasCustom && !clear_text)
        return 'nothing to change; set status, text, emoji or clear_text';
      if (hasCustom && clear_text) return 'clear_text cannot be combined with text or emoji';
      if (dnd_until !== undefined && status !== 'dnd') return 'dnd_until requires status: "dnd"';
      if (text_until !== undefined && !hasCustom) return 'text_until requires text or emoji';
      return checkFuture('dnd_until', dnd_until) ?? checkFuture('text_until', text_until);
    },
    output: status,
    async run({ status, dnd_until, text = '', emoji, text_until, clear_text }, context) {
      const { api, names } = context;
      const { id: user_id } = await names.me();
      const custom = path`/users/${user_id}/status/custom`;
      if (status !== undefined) {
        // Mattermost takes seconds here
        const end = dnd_until === undefined ? {} : { dnd_end_time: Math.ceil(toMilliseconds(dnd_until) / 1000) };
        await api.put(path`/users/${user_id}/status`, { user_id, status, ...end });
      }
      if (clear_text) await explainUnsupported(CUSTOM_STATUS, api.delete(custom));
      if (text || emoji) {
        const until = text_until === undefined ? undefined : new Date(toMilliseconds(text_until)).toISOString();
        const end = until === undefined ? {} : { duration: 'date_and_time', expires_at: until };
        const shown = (emoji ?? DEFAULT_EMOJI).replaceAll(':', '');
        await explainUnsupported(CUSTOM_STATUS, api.put(custom, { emoji: shown, text, ...end }));
      }
      return presentStatus(context, user_id);
    },
  }),
];
