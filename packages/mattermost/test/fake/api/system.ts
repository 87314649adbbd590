// Public information about the server.

import { ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError } from '../world/api-error.ts';

export const openSystemRoutes: Routes = {
  'GET /system/ping': (call) => {
    const status = call.flag('get_server_status') ? { database_status: 'OK', filestore_status: 'OK' } : {};
    return ok({ ActiveSearchBackend: call.world.options.searchEngine, status: 'OK', ...status });
  },
  'GET /config/client': (call) => {
    const { version, publicLinks, collapsedThreads, maxFileSize, licensed } = call.world.options;
    if (call.query.get('format') !== 'old' && !call.world.atLeast(11)) {
      throw new ApiError(501, 'api.config.client.old_format.app_error', {
        message:
          'New format for the client configuration is not supported yet. Please specify format=old in the query string.',
      });
    }
    // all values are strings; unauthenticated clients get fewer
    return ok({
      Version: `${version}.0`,
      BuildNumber: `${version}.0`,
      SiteName: 'Fake Mattermost',
      SiteURL: `http://${String(call.headers.host)}`,
      BuildEnterpriseReady: String(licensed),
      ...(call.user.id
        ? {
            EnablePublicLink: String(publicLinks),
            CollapsedThreads: collapsedThreads ? 'default_on' : 'disabled',
            MaxFileSize: String(maxFileSize),
            MaxPostSize: '16383',
          }
        : {}),
    });
  },
};
