// Custom statuses, kept as JSON text in the props of the user.
import { done, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, invalidBody } from '../world/api-error.ts';
import type { World } from '../world/world.ts';

const durations = ['thirty_minutes', 'one_hour', 'four_hours', 'today', 'this_week', 'date_and_time'];
/** The zero time of Go. */
const NEVER = '0001-01-01T00:00:00Z';
const MAX_CHARACTERS = 100;

function enabled(world: World): void {
  if (!world.isDisabled('custom_status')) return;
  throw new ApiError(501, 'api.custom_status.disabled', {
    message: 'Custom status feature has been disabled. Please contact your system administrator for details.',
  });
}

export const customStatusRoutes: Routes = {
  'PUT /users/{user_id}/status/custom': (call) => {
    enabled(call.world);
    const user = call.self();
    const body = call.fields('custom_status');
    const emoji = text(body, 'emoji');
    const given = text(body, 'text');
    const duration = text(body, 'duration');
    const expires_at = text(body, 'expires_at', NEVER);
    const isPast = Date.parse(expires_at) <= Date.now();
    const isValid = duration === '' ? expires_at === NEVER || !isPast : durations.includes(duration) && !isPast;
    if ((emoji === '' && given === '') || Number.isNaN(Date.parse(expires_at)) || !isValid) {
      throw invalidBody('custom_status');
    }
    // cut silently
    const status = { emoji, text: [...given].slice(0, MAX_CHARACTERS).join(''), duration, expires_at };
    user.props = { ...user.props, customStatus: JSON.stringify(status) };
    return done;
  },
  'DELETE /users/{user_id}/status/custom': (call) => {
    enabled(call.world);
    const user = call.self();
    const { customStatus: _, ...others } = user.props ?? {};
    user.props = others;
    return done;
  },
};
