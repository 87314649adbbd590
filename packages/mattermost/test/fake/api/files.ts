// Files: both kinds of upload, and download.

import { type Call, created, idPattern, ok, type Reply } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { FileInfo, User } from '../world/model.ts';
import type { World } from '../world/world.ts';

const types: Record<string, string> = {
  csv: 'text/csv; charset=utf-8',
  gif: 'image/gif',
  html: 'text/html; charset=utf-8',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain; charset=utf-8',
  webp: 'image/webp',
  zip: 'application/zip',
};

export function storeFile(
  world: World,
  { user, channelId, name, content }: { user: User; channelId: string; name: string; content: Buffer },
): FileInfo {
  if (content.length > world.options.maxFileSize) {
    throw new ApiError(413, 'api.file.upload_file.too_large_detailed.app_error', {
      message: `Unable to upload file ${name}. ${content.length} bytes exceeds the maximum allowed ${world.options.maxFileSize} bytes.`,
    });
  }
  const now = world.now();
  // only the last path segment is the name
  const base = name.split(/[\\/]/).at(-1) ?? name;
  const extension = base.includes('.') ? (base.split('.').at(-1) ?? '').toLowerCase() : '';
  const png = extension === 'png' && content.length >= 24;
  const info: FileInfo = {
    id: world.newId(),
    user_id: user.id,
    post_id: '',
    channel_id: channelId,
    create_at: now,
    update_at: now,
    delete_at: 0,
    name: base,
    extension,
    size: content.length,
    mime_type: types[extension] ?? 'application/octet-stream',
    width: png ? content.readUInt32BE(16) : 0,
    height: png ? content.readUInt32BE(20) : 0,
    has_preview_image: png,
  };
  world.files.set(info.id, { info, content });
  return info;
}

function unreadable(detail: string): ApiError {
  return new ApiError(400, 'api.file.upload_file.read_request.app_error', {
    message: 'Unable to upload file(s). Error reading or parsing request data.',
    detail,
  });
}

function mayUpload(call: Call, channelId: string): string {
  if (!idPattern.test(channelId)) throw invalidBody('channel_id');
  if (!call.world.member(channelId, call.user.id)) throw forbidden('upload_file');
  return channelId;
}

/** A body that is not multipart is the file itself, even a multipart body with a wrong content type. */
function uploadRaw(call: Call): Reply {
  const channelId = mayUpload(call, call.query.get('channel_id') ?? '');
  const name = call.query.get('filename') ?? '';
  if (!name) throw invalidBody('filename');
  const clientId = call.query.get('client_id');
  const info = storeFile(call.world, { user: call.user, channelId, name, content: call.body });
  return created({ file_infos: [infoJson(call.world, info)], client_ids: clientId ? [clientId] : null });
}

async function uploadMultipart(call: Call, contentType: string): Promise<Reply> {
  let channelId = call.query.get('channel_id') ?? '';
  const clientIds: string[] = [];
  const files: { name: string; field: string; content: Buffer; early: boolean }[] = [];
  for (const [field, value] of await formOf(call.body, contentType)) {
    if (typeof value !== 'string') {
      const content = Buffer.from(await value.arrayBuffer());
      files.push({ name: value.name, field, content, early: channelId === '' });
    } else if (field === 'client_ids') clientIds.push(value);
    else if (field !== 'channel_id') throw invalidBody(field);
    else if (channelId && channelId !== value) {
      throw new ApiError(400, 'api.file.upload_file.multiple_channel_ids.app_error', {
        message: 'Unable to upload file(s). Multiple conflicting channel_ids.',
      });
    } else channelId = value;
  }
  mayUpload(call, channelId);
  // if the channel follows the files, the form is parsed the old way, which supports one field name
  const taken = files.some(({ early }) => early) ? files.filter(({ field }) => field === 'files') : files;
  if (clientIds.length > 0 && clientIds.length !== taken.length) {
    throw new ApiError(400, 'api.file.upload_file.incorrect_number_of_client_ids.app_error', {
      message: `Unable to upload file(s). Have ${clientIds.length} client_ids for ${taken.length} files.`,
    });
  }
  const infos = taken.map(({ name, content }) =>
    infoJson(call.world, storeFile(call.world, { user: call.user, channelId, name, content })),
  );
  return created({ file_infos: infos, client_ids: clientIds });
}

async function formOf(body: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch (error) {
    throw unreadable(String(error));
  }
}

function infoJson(world: World, info: FileInfo): Record<string, unknown> {
  return {
    ...info,
    // unposted files have no post id; the oldest servers do not return the channel
    post_id: info.post_id || undefined,
    channel_id: world.atLeast(7) ? info.channel_id : undefined,
    mini_preview: null,
    ...(world.atLeast(7) ? { remote_id: '', archived: false } : {}),
  };
}

function file(call: Call): { info: FileInfo; content: Buffer } {
  const { world, user } = call;
  const found = world.files.get(call.param('file_id'));
  if (!found || found.info.delete_at) throw notFound('app.file_info.get.app_error', 'Unable to get the file info.');
  const post = world.posts.get(found.info.post_id);
  const channel = post && world.channel(post.channel_id);
  if (found.info.user_id !== user.id && !(channel && world.mayRead(user, channel))) throw forbidden('read_channel');
  return found;
}

export const fileRoutes: Routes = {
  'POST /files': (call) => {
    const contentType = String(call.headers['content-type'] ?? '');
    if (call.body.length === 0) throw unreadable('Content-Length should not be 0');
    if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) return uploadRaw(call);
    if (!/boundary=/i.test(contentType)) throw unreadable('no multipart boundary param in Content-Type');
    return uploadMultipart(call, contentType);
  },
  'GET /files/{file_id}/info': (call) => ok(infoJson(call.world, file(call).info)),
  'GET /files/{file_id}': (call) => {
    const { info, content } = file(call);
    const name = encodeURIComponent(info.name);
    const headers = {
      'Content-Type': info.mime_type,
      'Content-Disposition': `${call.flag('download') ? 'attachment' : 'inline'};filename="${name}"; filename*=UTF-8''${name}`,
      'Cache-Control': 'private, no-cache',
      'X-Content-Type-Options': 'nosniff',
    };
    return { status: 200, body: content, headers };
  },
  'GET /files/{file_id}/link': (call) => {
    if (!call.world.options.publicLinks) {
      throw new ApiError(call.world.atLeast(8) ? 403 : 501, 'api.file.get_public_link.disabled.app_error', {
        message: 'Public links have been disabled.',
      });
    }
    const { info } = file(call);
    if (!info.post_id) {
      throw new ApiError(400, 'api.file.get_public_link.no_post.app_error', {
        message:
          'Unable to get public link for file. File must be attached to a post that can be read by the current user.',
      });
    }
    return ok({ link: `http://${String(call.headers.host)}/files/${info.id}/public?h=${info.id.slice(0, 20)}` });
  },
};
