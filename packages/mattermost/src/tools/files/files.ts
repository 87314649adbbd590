// Tools for files: upload, inspect, read, download.
import { z } from 'zod';
import { path } from '../../client/path.ts';
import type { FileRecord } from '../../client/records.ts';
import { compactFile } from '../base/compact.ts';
import { full, id, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { conflictRules } from './file-access.ts';
import { readContent } from './file-content.ts';
import { checkSource, sourceArguments } from './file-source.ts';
import { downloadFile, uploadFile } from './file-transfer.ts';

const file = record('id', 'name', 'size', 'mime_type', 'channel_id', 'post_id');

export const fileTools = [
  defineTool({
    name: 'upload_file',
    title: 'Upload file',
    description:
      'Upload a file to a channel: file_path on the server machine (inside its allowed folders), or content_base64 with filename. Then call post_message with its id in file_ids.',
    capability: 'write',
    effect: 'additive',
    tags: ['file'],
    input: {
      channel_id: id(),
      ...sourceArguments(),
      full: full(),
    },
    check: checkSource,
    output: file,
    async run({ full, ...request }, context) {
      await context.policy.requireChannel(request.channel_id, 'write');
      const uploaded = await uploadFile(context, request);
      return full ? uploaded : compactFile(uploaded);
    },
  }),
  defineTool({
    name: 'get_file_info',
    title: 'Get file info',
    description: 'Get the name, size and type of a file.',
    capability: 'read',
    effect: 'read',
    tags: ['file'],
    input: { file_id: id(), full: full() },
    output: file,
    async run({ file_id, full }, { api, policy }) {
      await policy.requireFile(file_id, 'read');
      const found = await api.get<FileRecord>(path`/files/${file_id}/info`);
      return full ? found : compactFile(found);
    },
  }),
  defineTool({
    name: 'get_file_link',
    title: 'Get public file link',
    description: 'Get a link that works without login, if the server allows public links.',
    capability: 'read',
    effect: 'read',
    tags: ['file'],
    input: { file_id: id() },
    output: record('link'),
    async run({ file_id }, { api, policy }) {
      await policy.requireFile(file_id, 'read');
      return api.get<{ link?: string }>(path`/files/${file_id}/link`);
    },
  }),
  defineTool({
    name: 'get_file_content',
    title: 'Read file',
    description: 'Read a file: images as an image, text in pieces. For other types use download_file.',
    capability: 'read',
    effect: 'read',
    tags: ['file'],
    input: {
      file_id: id(),
      offset: z.int().min(0).max(100_000_000).default(0).describe('Index of the first character'),
      max_chars: z.int().min(1).max(100_000).default(20_000),
    },
    output: record('id', 'name', 'mime_type', 'size', 'text', 'truncated', 'next'),
    async run({ file_id, offset, max_chars }, context) {
      await context.policy.requireFile(file_id, 'read');
      return readContent(context, { fileId: file_id, offset, maxChars: max_chars });
    },
  }),
  defineTool({
    name: 'download_file',
    title: 'Download file',
    description: 'Save a file on the server machine, inside its allowed folders.',
    capability: 'write',
    effect: 'destructive',
    tags: ['file'],
    input: {
      file_id: id(),
      destination_dir: z.string().max(4096).default('').describe('Default: the first allowed folder'),
      filename: z.string().min(1).max(255).optional(),
      on_conflict: z.enum(conflictRules).default('error').describe('What to do if the name exists'),
    },
    output: record('path', 'name', 'size', 'mime_type'),
    async run(request, context) {
      await context.policy.requireFile(request.file_id, 'read');
      return downloadFile(context, request);
    },
  }),
];
